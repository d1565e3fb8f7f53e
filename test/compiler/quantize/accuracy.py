#!/usr/bin/env python3
"""Counts the digits that int8 names wrongly.

    accuracy.py data DIGITS           writes calibrate.npz, the pictures of
                                      DIGITS/test.safetensors as floats
    accuracy.py compare DIGITS WIDE.so INT8.so
                                      fails if int8 names 0.3% fewer of the 1,408
                                      pictures of train.safetensors rightly
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

BATCH, MOST = 64, 0.003


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    digits = load_file(path)
    return digits["image"].astype(np.float32), digits["labels"]


def answers(model: str, images: np.ndarray) -> np.ndarray:
    named = []
    for start in range(0, len(images), BATCH):
        np.save("call.npy", images[start:start + BATCH])
        subprocess.run(["frit-run", model, "--input=@call.npy", "--output=@call.npz"],
                       check=True, stdout=subprocess.DEVNULL)
        named.append(np.load("call.npz")["logits"].argmax(1))
    return np.concatenate(named)


folder = Path(sys.argv[2])
if sys.argv[1] == "data":
    np.savez("calibrate.npz", image=read(folder / "test.safetensors")[0])
    sys.exit()
images, labels = read(folder / "train.safetensors")
count = len(labels) // BATCH * BATCH
images, labels = images[:count], labels[:count]
wide, narrow = (answers(model, images) for model in sys.argv[3:])
right = [(named == labels).mean() for named in (wide, narrow)]
print(f"{count} pictures: {right[0]:.2%} in f32, {right[1]:.2%} in int8, "
      f"{(wide != narrow).sum()} other answers")
sys.exit(not (count >= 1000 and right[0] > 0.9 and right[1] > right[0] - MOST))
