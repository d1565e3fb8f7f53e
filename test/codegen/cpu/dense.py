"""Writes a model whose every value is finite and a result, so that one kernel
has 25 tensors and 24 loops or more: dense.py FILE"""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from deep_graphs import Builder  # noqa: E402

b = Builder()
values = ["x0"]
for i in range(24):
    scaled = b.op("Mul", values[-1], b.constant(np.float32(1 + i / 16)))
    values.append(b.op("Tanh" if i % 2 else "Exp", b.op("Neg", scaled)))
b.write(Path(sys.argv[1]), *values[1:])
