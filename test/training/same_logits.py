"""Compares losses of models that end with probabilities and views with NumPy's: same_logits.py FOLDER"""
import os
import subprocess
import sys

import numpy as np

from runtime import Step

os.chdir(sys.argv[1])
X = np.array([[1, -2], [0.5, 3], [-1, 0.25], [2, 2]], np.float32)
LOGITS = X @ np.array([[1, 2], [3, 4]], np.float32)
LABELS = np.array([0, 1, 1, 0])
likelihood = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
expected = -likelihood[np.arange(4), LABELS].mean()
for name, shape in (("classes", 4), ("viewed", (2, 2)), ("moved", (1, 4))):
    subprocess.run(["fritc", f"{name}.onnx", f"--train={name}.json", "-march=x86-64-v3", "-o", f"{name}.so"], check=True)
    step = Step(f"{name}.so")
    for run in (step.evaluate, step.train):
        loss = run(x=X, labels=LABELS.reshape(shape))["loss"]
        np.testing.assert_allclose(loss, expected, rtol=1e-5, err_msg=name)
    step.close()
print("the losses are those of the logits")
