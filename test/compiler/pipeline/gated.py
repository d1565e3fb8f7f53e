"""Gated blocks of few rows, gated.py WORK: the norm of the rows, two products and what combines
them are one kernel, in bf16 and with codes, on the emulator of GPUs beside the CPU target."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EMULATE = Path(__file__).resolve().parents[2] / "emulator" / "model.sh"


def gated_model(path, rows, width, inner, activation="silu", up_first=False, softmax=False):
    """h + down(activation(gate(n)) · up(n)), n the root mean square norm of h = first(x)."""
    rng = np.random.default_rng(rows)
    weights = {name: (rng.standard_normal(size) / np.sqrt(size[-1])).astype(np.float32) for name, size in (
        ("gate", (inner, width)), ("up", (inner, width)), ("down", (width, inner)),
        ("first", (width, width)))}
    weights["scale"] = rng.uniform(0.5, 2, width).astype(np.float32)
    products = [helper.make_node("Gemm", ["n", "gate"], ["g"], transB=1),
                helper.make_node("Gemm", ["n", "up"], ["u"], transB=1)]
    function = [helper.make_node("Sigmoid", ["g"], ["s"]), helper.make_node("Mul", ["g", "s"], ["a"])]
    if activation == "gelu":
        function = [helper.make_node("Gelu", ["g"], ["a"])]
    nodes = [helper.make_node("Gemm", ["x", "first"], ["h"], transB=1),
             helper.make_node("RMSNormalization", ["h", "scale"], ["n"], epsilon=1e-5)]
    nodes += products[::-1] + function if up_first else [products[0]] + function + [products[1]]
    nodes += [helper.make_node("Mul", ["a", "u"], ["m"]),
              helper.make_node("Gemm", ["m", "down"], ["d"], transB=1),
              helper.make_node("Add", ["h", "d"], ["y"])]
    if softmax:  # another reader of the norm, which no product's kernel computes
        nodes += [helper.make_node("Softmax", ["n"], ["z"])]
    graph = helper.make_graph(
        nodes, "gated", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yz"[:1 + softmax]],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]), path)


def check(work, rows, width, inner, *options, expected=("rows_gemm",) * 3, **model):
    path = work / "gated.onnx"
    gated_model(path, rows, width, inner, **model)
    text = subprocess.run(["fritc", path, "-march=sm_90a", *options, "--emit=fused", "-o", "-"],
                          capture_output=True, text=True, check=True).stdout
    main = text[text.index("func.func @main"):].split("func.func @prepare")[0]
    # Interfaces are f32, so kernels cast at both ends.
    found = [kind for kind in re.findall(r"schedule\(#cuda\.(\w+)<", main) if kind != "map"]
    assert found == list(expected), found
    subprocess.run(["bash", EMULATE, Path(shutil.which("fritc")).parent, sys.executable, path, "5e-2",
                    *options], check=True, capture_output=True)
    print(f"{rows} x {width} x {inner} {' '.join(options)}: agrees")


if __name__ == "__main__":
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check(work, 1, 128, 192, "-fprecision=bf16", expected=("gemv", "rows_gemm", "gemv"))
    check(work, 3, 128, 192, "-fprecision=bf16", expected=("gemv", "rows_gemm", "gemv"), activation="gelu")
    check(work, 8, 136, 72, "-fprecision=bf16", up_first=True)
    check(work, 16, 256, 64, "-fprecision=bf16")
    check(work, 2, 128, 256, "-fprecision=bf16", "-fweights=int4:32")
    check(work, 9, 256, 128, "-fprecision=bf16", "-fweights=int8", up_first=True)
    # In f16, products with the scale might overflow: only the pair is one kernel.
    check(work, 1, 128, 192, "-fprecision=fp16", expected=("gemv", "row", "rows_gemm", "gemv"))
    # Many rows, and another reader of the norm.
    check(work, 40, 128, 192, "-fprecision=bf16",
          expected=("wgmma_gemm", "row") + ("wgmma_gemm",) * 3)
    check(work, 4, 128, 192, "-fprecision=bf16", softmax=True,
          expected=("gemv", "row", "rows_gemm", "gemv"))
