"""Compiles a graph of so many kernels that they share code, and compares it
with NumPy: shared.py BIN FOLDER"""
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from deep_graphs import SHAPE, Builder  # noqa: E402

bin, folder = map(Path, sys.argv[1:])
x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
b = Builder()
names, parts = [], []
# More operators of one value than there may be loops.
for i in range(600):
    kind, f = (("Add", np.add), ("Mul", np.multiply), ("Sub", np.subtract),
               ("Max", np.maximum), ("Min", np.minimum))[i % 5]
    number = np.float32(i / 128 - 2)
    names.append(b.op(kind, "x0", b.constant(number)))
    parts.append(f(x, number))
# A value that is concatenated several times.
names += names[:70]
parts += parts[:70]
# Reductions in sequence.
last, value = "x0", x
for i in range(20):
    most = b.op("ReduceMax", last, b.constant(np.array([1])))
    last = b.op("Sub", last, most)
    last = b.op("Mul", last, b.constant(np.float32(1 - i / 64)))
    value = ((value - value.max(1, keepdims=True)) * np.float32(1 - i / 64))
names.append(last)
parts.append(value)
b.write(folder / "m.onnx", b.op("Concat", *names, axis=0))
np.savez(folder / "x.npz", x0=x)
subprocess.run([bin / "fritc", folder / "m.onnx", "-march=x86-64", "-o",
                folder / "m.so"], check=True)
subprocess.run([bin / "frit-run", folder / "m.so", f"--input=@{folder}/x.npz",
                f"--output=@{folder}/y.npz"], check=True,
               stdout=subprocess.DEVNULL)
(y,) = np.load(folder / "y.npz").values()
expected = np.concatenate(parts)
assert np.isfinite(expected).all()
assert y.tobytes() == expected.tobytes(), np.abs(y - expected).max()
plan = subprocess.run([bin / "fritc", folder / "m.onnx", "-march=x86-64",
                       "--emit=plan", "-o", "-"], check=True,
                      capture_output=True, text=True).stdout
kernels = plan.count("plan.kernel @")
# One for each operator, two or three concats, the first and last reduction.
assert kernels < 16, kernels
