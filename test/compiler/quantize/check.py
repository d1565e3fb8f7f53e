#!/usr/bin/env python3
"""Checks that a quantized network names the digits, and how far its results
are from PyTorch's: check.py MODEL.so MODELS MOST"""
import subprocess
import sys
from pathlib import Path

import numpy as np

model, models, most = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
data = np.load(models / "digits.npz")
inputs, expected = data["image"], data["probabilities"]
wrong, difference = [], 0.0
for i, image in enumerate(inputs):
    np.save("one.npy", image[None])
    subprocess.run(["frit-run", model, "--input=@one.npy", "--output=@one.npz"],
                   check=True, stdout=subprocess.DEVNULL)
    result = np.load("one.npz")["probabilities"][0]
    difference += float(((result - expected[i]) ** 2).sum())
    if result.argmax() != expected[i].argmax():
        wrong.append(i)
error = (difference / float((expected ** 2).sum())) ** 0.5
print(f"error {error:.1e}, other digits {wrong}")
sys.exit(bool(wrong) or not 0 < error <= most)
