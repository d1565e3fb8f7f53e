"""Weights of which two of four neighbours are kept, sparse.py WORK: from -fsparse and from the
model, on the emulator of GPUs beside the CPU target, and there beside NumPy."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EMULATE = Path(__file__).resolve().parents[2] / "emulator" / "model.sh"
N, K = 1024, 2048
FEW = [f"-fshape=rows={rows}" for rows in (1, 7, 16)]


def save(path, weights, transposed=False):
    """y = Softmax(tanh(x · a) · b)."""
    info = helper.make_tensor_value_info
    product = ("Gemm", dict(transB=1)) if transposed else ("MatMul", {})
    nodes = [helper.make_node(product[0], ["x", "a"], ["h"], "first", **product[1]),
             helper.make_node("Tanh", ["h"], ["s"]),
             helper.make_node(product[0], ["s", "b"], ["p"], "second", **product[1]),
             helper.make_node("Softmax", ["p"], ["y"])]
    tensors = [numpy_helper.from_array(np.ascontiguousarray(value.T if transposed else value), name)
               for name, value in weights.items()]
    graph = helper.make_graph(nodes, "sparse", [info("x", TensorProto.FLOAT, ["rows", K])],
                              [info("y", TensorProto.FLOAT, None)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout + done.stderr


def prune(weight):
    """Keeps two of four rows of each column of a matrix of k rows."""
    groups = weight.reshape(-1, 4, weight.shape[1])
    order = np.argsort(-np.abs(groups), axis=1, kind="stable")
    kept = np.zeros_like(groups)
    for i in range(2):
        at = order[:, i:i + 1]
        np.put_along_axis(kept, at, np.take_along_axis(groups, at, 1), 1)
    return kept.reshape(weight.shape)


def kernels(path, *options):
    text = run("fritc", path, "-march=sm_90a", *options, "--emit=plan", "-o", "-")
    return re.findall(r"schedule\(#cuda\.(sparse_rows|rows_gemm|dequantize|gemv|wgmma_gemm|gemm)<", text)


def emulate(path, tolerance, *options):
    run("bash", EMULATE, Path(shutil.which("fritc")).parent, sys.executable, path, tolerance, *options)


def on_cpu(work, path, x, *options):
    np.save(work / "x.npy", x)
    run("fritc", path, "-march=x86-64-v3", f"-fshape=rows={len(x)}", *options, "-o", work / "cpu.so")
    run("frit-run", work / "cpu.so", f"--input=x=@{work}/x.npy", f"--output=@{work}/y.npz")
    return np.load(work / "y.npz")["y"]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def main(work):
    rng = np.random.default_rng(1)
    weights = {"a": rng.standard_normal((K, N)) / 16, "b": rng.standard_normal((N, K)) / 16}
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    pruned = {name: prune(value) for name, value in weights.items()}
    x = rng.standard_normal((7, K)).astype(np.float32)
    want = softmax(np.tanh(x @ pruned["a"]) @ pruned["b"])
    dense, sparse = work / "dense.onnx", work / "sparse.onnx"
    save(dense, weights, transposed=True)
    save(sparse, pruned)
    magnitude = "-fsparse=2:4:magnitude"

    # The CPU multiplies the zeros.
    for path, options in ((dense, [magnitude]), (sparse, ["-fsparse=2:4"]), (sparse, [])):
        y = on_cpu(work, path, x, *options)
        assert np.abs(y - want).max() < 1e-5 * want.max(), "differs from NumPy"
    print("cpu: agrees")

    # GPUs do not, for few rows; a matrix that is sparse needs no option.
    for precision, tolerance, path, options, few in (("fp16", 1e-2, sparse, [], FEW[1]),
                                                     ("bf16", 5e-2, dense, [magnitude], FEW[2])):
        found = kernels(path, f"-fprecision={precision}", few, *options)
        assert found == ["sparse_rows"] * 2, found
        emulate(path, tolerance, f"-fprecision={precision}", few, *options)
        print(f"{precision}: agrees")

    # Codes of pruned weights are read with their zeros, up to 48 million of them.
    for weights in "int8", "fp8":
        options = [f"-fweights={weights}", magnitude, FEW[0]]
        found = kernels(dense, "-fprecision=bf16", *options)
        assert found == ["rows_gemm"] * 2, found
        emulate(dense, 5e-2, "-fprecision=bf16", *options)
        print(f"{weights}: agrees")

    # Others read the zeros, which a remark says.
    for options, kernel, why in (
            (["-fprecision=fp16", "-fshape=rows=40"], "wgmma_gemm",
             "WGMMA takes as long by the dense matrix"),
            (["-fprecision=fp32", FEW[0]], "gemv", "its elements are no 16-bit numbers of one type"),
            (["-fprecision=fp16", FEW[0], "-fbatch-invariant"], "rows_gemm",
             "the order of its sums depends on the rows"),
            (["-fprecision=bf16", FEW[0], "-fweights=int8"], "rows_gemm", "it is small"),
            (["-fprecision=fp16", FEW[0], "-fweights=int4"], "rows_gemm", "its codes are no int8 or fp8")):
        assert kernels(dense, magnitude, *options) == [kernel] * 2, options
        text = run("fritc", dense, "-march=sm_90a", magnitude, *options, "-Rpass-missed=sparse",
                   "--emit=fused", "-o", work / "fused.mlir")
        assert f"its sparse weight is read with its zeros: {why}" in text, text
    print("others: agree")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    main(folder)
