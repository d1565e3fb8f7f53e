"""Weights of few bits in artifacts, weights.py WORK: from MatMulNBits and from -fweights, on the
emulator of GPUs beside the CPU target, and there beside NumPy."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EMULATE = Path(__file__).resolve().parents[2] / "emulator" / "model.sh"


def save(path, nodes, weights, shape):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "weights", inputs, outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]), path)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def bits_model(path, bits, rows, n, k, block, zeros):
    """A product by codes, with its bias and an activation; returns its matrix."""
    rng = np.random.default_rng(bits + rows)
    blocks = k // block
    codes = rng.integers(0, 1 << bits, (n, k))
    scales = rng.uniform(0.01, 0.02, (n, blocks)).astype(np.float32)
    packed = codes if bits == 8 else codes[:, ::2] | codes[:, 1::2] << 4
    weights = {"codes": packed.astype(np.uint8).reshape(n, blocks, -1), "scales": scales.reshape(-1),
               "bias": rng.standard_normal(n).astype(np.float32)}
    names, middle = ["x", "codes", "scales"], np.full((n, blocks), 1 << bits - 1)
    if zeros == "codes":
        middle = rng.integers(1 << bits - 2, 3 << bits - 2, (n, blocks))
        flat = middle if bits == 8 else np.pad(middle, [(0, 0), (0, blocks % 2)])
        flat = flat if bits == 8 else flat[:, ::2] | flat[:, 1::2] << 4
        weights["zeros"] = flat.astype(np.uint8).reshape(-1)
        names.append("zeros")
    elif zeros:
        middle = middle + rng.uniform(-2, 2, (n, blocks)).astype(np.float32)
        weights["zeros"] = middle.astype(np.float32)
        names.append("zeros")
    nodes = [helper.make_node("MatMulNBits", names, ["p"], domain="com.microsoft", K=k, N=n,
                              bits=bits, block_size=block),
             helper.make_node("Add", ["p", "bias"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    save(path, nodes, weights, [rows, k])
    matrix = (codes - np.repeat(middle, block, 1)) * np.repeat(scales.astype("f8"), block, 1)
    return matrix, weights["bias"]


def kernels(path, *options):
    text = run("fritc", path, "-march=sm_90a", *options, "--emit=plan", "-o", "-")
    return re.findall(r"schedule\(#cuda\.(rows_gemm|dequantize|gemv|wgmma_gemm|gemm)<", text)


def check_bits(work, bits, rows, n, k, block, zeros=None, expected=("rows_gemm",)):
    path = work / "bits.onnx"
    matrix, bias = bits_model(path, bits, rows, n, k, block, zeros)
    x = np.random.default_rng(1).standard_normal((rows, k)).astype(np.float32)
    np.save(work / "x.npy", x)
    run("fritc", path, "-march=x86-64-v3", "-o", work / "cpu.so")
    run("frit-run", work / "cpu.so", f"--input=x=@{work}/x.npy", f"--output=@{work}/y.npz")
    y, want = np.load(work / "y.npz")["y"], np.maximum(x @ matrix.T + bias, 0)
    assert np.abs(y - want).max() < 1e-5 * np.abs(want).max(), "differs from NumPy"
    for precision, tolerance in ("fp16", 1e-2), ("bf16", 5e-2):
        found = kernels(path, f"-fprecision={precision}")
        assert found == list(expected), found
        run("bash", EMULATE, Path(shutil.which("fritc")).parent, sys.executable, path, tolerance,
            f"-fprecision={precision}")
    print(f"{bits} bits, {rows} x {n} x {k}, blocks of {block}, zeros {zeros}: agrees")


def check_blocks(work, kind, axis, zeros):
    """A product by the result of a DequantizeLinear of blocks."""
    rng, (n, k, block) = np.random.default_rng(4), (64, 128, 32)
    low, high = dict(i4=(-8, 8), u4=(0, 16), i8=(-128, 128), u8=(0, 256))[kind]
    codes = rng.integers(low, high, (n, k))
    scales = rng.uniform(0.01, 0.02, (n, k // block)).astype(np.float32)
    middle = rng.integers(low // 2, high // 2, scales.shape) if zeros else np.zeros(scales.shape)
    types = dict(i4=TensorProto.INT4, u4=TensorProto.UINT4, i8=TensorProto.INT8, u8=TensorProto.UINT8)

    def tensor(name, values):
        values = values.T if axis == 0 else values
        return helper.make_tensor(name, types[kind], values.shape, values.flatten().astype(int).tolist())
    weights = [tensor("q", codes), numpy_helper.from_array(
        np.ascontiguousarray(scales.T if axis == 0 else scales), "s")]
    if zeros:
        weights.append(tensor("z", middle))
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"] + ["z"] * zeros, ["w"], axis=axis,
                              block_size=block),
             helper.make_node("Gemm", ["x", "w"], ["y"], transB=int(axis == 1))]
    graph = helper.make_graph(
        nodes, "blocks", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, k])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    path = work / "blocks.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    x = rng.standard_normal((3, k)).astype(np.float32)
    np.save(work / "x.npy", x)
    run("fritc", path, "-march=x86-64-v3", "-o", work / "cpu.so")
    run("frit-run", work / "cpu.so", f"--input=x=@{work}/x.npy", f"--output=@{work}/y.npz")
    matrix = (codes - np.repeat(middle, block, 1)) * np.repeat(scales.astype("f8"), block, 1)
    y, want = np.load(work / "y.npz")["y"], x @ matrix.T
    assert np.abs(y - want).max() < 1e-5 * np.abs(want).max(), "differs from NumPy"
    found = kernels(path, "-fprecision=fp16")
    assert found == ["rows_gemm"], found
    run("bash", EMULATE, Path(shutil.which("fritc")).parent, sys.executable, path, 1e-2,
        "-fprecision=fp16")
    print(f"blocks of {kind} along {axis}: agrees")


def check_rounded(work, weights, error):
    """A float model whose weights the compiler rounds."""
    rng, path = np.random.default_rng(3), work / "float.onnx"
    a, b = (rng.standard_normal(size).astype(np.float32) / 8 for size in ((128, 256), (256, 128)))
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]),
             helper.make_node("Tanh", ["h"], ["s"]),
             helper.make_node("MatMul", ["s", "b"], ["y"])]
    save(path, nodes, dict(a=a, b=b), [2, 128])
    found = kernels(path, "-fprecision=fp16", f"-fweights={weights}")
    assert found == ["rows_gemm"] * 2, found
    run("bash", EMULATE, Path(shutil.which("fritc")).parent, sys.executable, path, 1e-2,
        "-fprecision=fp16", f"-fweights={weights}")
    x = rng.standard_normal((2, 128)).astype(np.float32)
    np.save(work / "x.npy", x)
    run("fritc", path, "-march=x86-64-v3", f"-fweights={weights}", "-o", work / "cpu.so")
    run("frit-run", work / "cpu.so", f"--input=x=@{work}/x.npy", f"--output=@{work}/y.npz")
    want, y = np.tanh(x @ a) @ b, np.load(work / "y.npz")["y"]
    off = np.linalg.norm(y - want) / np.linalg.norm(want)
    assert error / 20 < off < error, f"{weights}: {off} off"
    print(f"-fweights={weights}: agrees")


if __name__ == "__main__":
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check_bits(work, 4, 1, 64, 256, 32)
    check_bits(work, 4, 5, 96, 192, 64, "codes")
    check_bits(work, 4, 16, 48, 128, 32, "floats")
    check_bits(work, 8, 3, 80, 128, 16, "codes")
    check_bits(work, 8, 9, 32, 256, 128)
    # Numbers are stored for many rows.
    check_bits(work, 4, 40, 64, 256, 32, "codes", ("dequantize", "wgmma_gemm"))
    # Rows that are no whole tiles, and small blocks, are numbers from the beginning.
    check_bits(work, 4, 1, 72, 256, 32, None, ("gemv",))
    check_bits(work, 4, 1, 64, 256, 16, None, ("gemv",))
    for kind, axis, zeros in (("i4", 0, False), ("u4", 0, True), ("i8", 1, True), ("u8", 1, False)):
        check_blocks(work, kind, axis, zeros)
    for weights, error in (("int8", 0.02), ("int4", 0.2), ("int4:32", 0.2), ("fp8", 0.06),
                           ("fp8:64", 0.06), ("mxfp4", 0.3)):
        check_rounded(work, weights, error)
