"""Models that were exported train as their PyTorch module does, with batch norm
in training mode, but for running statistics of norms that are frozen.

    exports.py ARTIFACT EXPECTED.npz [STATES]
"""
import sys

import numpy as np
from runtime import Step

artifact, expected, count = [*sys.argv[1:], "13"][:3]
expected = np.load(expected)
step = Step(artifact)
step.write(learning_rate=np.float32(0.1))
for i in range(3):
    loss = step.train(image=expected[f"image{i}"], labels=expected[f"labels{i}"])["loss"]
    np.testing.assert_allclose(loss, expected[f"loss{i}"], rtol=1e-5, err_msg=f"loss of step {i}")
state = step.read()
trained = [n for n in expected.files if n in state]
assert len(trained) == int(count), trained
for name in trained:
    np.testing.assert_allclose(state[name], expected[name], rtol=2e-4, atol=1e-5, err_msg=name)
logits = step.evaluate(image=expected["image2"], labels=expected["labels2"])["logits"]
np.testing.assert_allclose(logits, expected["logits"], rtol=2e-4, atol=1e-5, err_msg="logits")
print("equal")
