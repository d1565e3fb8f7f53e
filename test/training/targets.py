"""Trains one linear layer whose prediction is 100 on targets close to it and far
from it: MSE and its gradients must be those of f32.

    targets.py FOLDER
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser

from runtime import Step

folder = Path(sys.argv[1])
onnx.save(onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 18]>
    linear (float[4, 2] x) => (float[4, 2] y)
    <float[2, 2] w = {0, 0, 0, 0}, float[2] b = {100, 100}> {
      h = MatMul (x, w)
      y = Add (h, b)
    }"""), folder / "linear.onnx")
rate = 2.0 ** -10
(folder / "train.json").write_text(json.dumps(
    {"loss": {"kind": "mse"}, "loss_scale": {"initial": 1},
     "optimizer": {"kind": "sgd", "learning_rate": rate}}))
for precision in ("amp-bf16", "amp-fp16"):
    subprocess.run(["fritc", folder / "linear.onnx", "-march=x86-64-v3",
                    f"--train={folder / 'train.json'}", f"-fprecision={precision}",
                    "-o", folder / "step.so"], check=True)
    for target in (100.125, 99.9, 1000.0, 70000.0):
        step = Step(folder / "step.so")
        y = np.full((4, 2), target, np.float32)
        loss = float(step.train(x=np.zeros((4, 2), np.float32), target=y)["loss"])
        bias = step.read("b")["b"]
        step.close()
        difference = 100 - float(np.float32(target))
        assert abs(loss - difference ** 2) <= 1e-6 * loss, (precision, target, loss)
        # dL/db is the difference, as each b is in half of the elements; products'
        # gradients have 16 bits.
        moved = (100 - bias) / rate
        assert np.all(abs(moved - difference) <= abs(difference) * 2 ** -8 + 0.02), (
            precision, target, moved)
    print(f"{precision}: losses and gradients are those of f32")
