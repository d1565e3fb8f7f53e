"""Checks the model that was exported: check_digits.py FOLDER TEST.safetensors

It must classify at least 98% and as many as the run said. Writes a batch of
images and their logits.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file

folder = Path(sys.argv[1])
digits = load_file(sys.argv[2])
images, labels = digits["image"], digits["labels"]
onnx.checker.check_model(folder / "new.onnx")
model = onnxruntime.InferenceSession(folder / "new.onnx")
right = 0
for start in range(0, len(labels), 64):
    rows = np.arange(start, start + 64) % len(labels)
    logits, = model.run(None, {"image": images[rows].astype(np.float32)})
    own = min(64, len(labels) - start)
    right += (logits.argmax(1) == labels[rows])[:own].sum()
said = json.loads((folder / "digits.json").read_text())["eval_accuracy"]
assert said >= 0.98, said
assert abs(said - right / len(labels)) < 0.004, (said, right / len(labels))
np.save(folder / "images.npy", images[rows])
np.savez(folder / "logits.npz", logits=logits)
