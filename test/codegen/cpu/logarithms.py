"""Logarithms near 0 and near 1, and functions that are computed by them: logarithms.py BIN DIR ARCH.
Compares relative errors with NumPy's results in f64, where others only show absolute ones."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

tools, folder, arch = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
TINY = np.logspace(-44, -37, 40).astype(np.float32)
LOW = np.concatenate([np.linspace(-100, 0, 61), np.logspace(-9, 1, 30)])


def run(operators: list, x: np.ndarray) -> np.ndarray:
    """The result of operators, one after another, on x."""
    names = ["x", *(f"v{i}" for i in range(1, len(operators))), "y"]
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [helper.make_node(op, [a], [b], **attributes)
         for (op, attributes), a, b in zip(operators, names, names[1:])], "logarithms",
        [helper.make_tensor_value_info("x", element, x.shape)],
        [helper.make_tensor_value_info("y", element, None)])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 18)]), folder / "m.onnx")
    np.save(folder / "x.npy", x)
    subprocess.run([tools / "fritc", folder / "m.onnx", f"-march={arch}", "-o",
                    folder / "m.so"], check=True)
    subprocess.run([tools / "frit-run", folder / "m.so", f"--input=@{folder}/x.npy",
                    "--device=cpu", f"--output=@{folder}/y.npy"], check=True,
                   capture_output=True)
    return np.load(folder / "y.npy").astype(np.float64)


def check(name: str, operators: list, x: np.ndarray, expected, limit: float) -> None:
    got = run(operators, x)
    with np.errstate(all="ignore"):
        right = expected(x.astype(np.float64))
        apart = np.where(got == right, 0, np.abs(got / right - 1))
    worst = int(np.argmax(np.nan_to_num(apart, nan=np.inf)))
    assert apart.flat[worst] <= limit, (
        f"{name} of {x.flat[worst]} is {got.flat[worst]}, expected {right.flat[worst]}")
    print(f"{name}: {apart.max():.1e} off")


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def log_softmax(x):
    rest = x - x.max(-1, keepdims=True)
    return rest - np.log(np.exp(rest).sum(-1, keepdims=True))


check("log", [("Log", {})], np.concatenate([TINY, [0, np.inf, 1e-30, 3]]).astype(np.float32),
      np.log, 1e-6)
check("softplus", [("Softplus", {})],
      LOW[LOW > -85].astype(np.float32), softplus, 1e-6)
check("softplus of doubles", [("Softplus", {})], LOW, softplus, 1e-14)
check("softplus of infinities", [("Softplus", {})], np.array([-np.inf, np.inf], np.float32),
      softplus, 0)
row = np.linspace(-120, 0, 50).astype(np.float32).reshape(2, 25)
last = dict(axis=-1)
check("log of softmax", [("Softmax", last), ("Log", {})], row, log_softmax, 1e-6)
check("log of moved softmax", [("Softmax", last), ("Transpose", {}), ("Log", {})], row,
      lambda x: log_softmax(x).T, 1e-6)
