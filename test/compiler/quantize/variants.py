#!/usr/bin/env python3
"""Checks that a model's variants compute the same: variants.py MODEL.so DATA.npz SIZE...

Calls of the first SIZE samples of DATA give those rows of a call of all.
"""
import subprocess
import sys

import numpy as np


def run(x):
    np.savez("part.npz", x=x)
    subprocess.run(["frit-run", model, "--input=@part.npz", "--output=@part.out.npz"],
                   check=True, stdout=subprocess.DEVNULL)
    return np.load("part.out.npz")["y"]


model, data, *sizes = sys.argv[1:]
x = np.load(data)["x"]
want = run(x)
for size in map(int, sizes):
    y = run(x[:size])
    assert y.shape == want[:size].shape and np.allclose(y, want[:size], rtol=1e-5, atol=1e-5), (
        size, np.abs(y - want[:size]).max())
