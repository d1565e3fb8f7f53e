"""Compares exported models with exported weights and with what evaluation said:
check_export.py FOLDER. Writes an input and its result for the new model."""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import load_file

folder = Path(sys.argv[1])


def weights_of(name):
    model = onnx.load(folder / name)
    onnx.checker.check_model(model)
    return {tensor.name: numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer}


trained = load_file(folder / "new.safetensors")
assert sorted(trained) == ["fc.bias", "fc.weight"], trained
assert all(np.abs(value).max() > 0.1 for value in trained.values())

new, half, apart, same = map(weights_of, [
    "new.onnx", "newhalf.onnx", "other/newapart.onnx", "newsame.onnx"])
assert not same.pop("zeros").any()
for name, value in trained.items():
    assert (new[name] == value).all() and (apart[name] == value).all()
    assert (same[name] == value).all()
    assert half[name].dtype == np.float16
    assert (half[name] == value.astype(np.float16)).all()
old = weights_of("model.onnx")
assert not old["fc.weight"].any()

test = np.load(folder / "test.npz")
logits = test["x"] @ new["fc.weight"] + new["fc.bias"]
accuracy = (logits.argmax(1) == test["labels"]).mean()
said = json.loads((folder / "new.json").read_text())
assert abs(said["eval_accuracy"] - accuracy) < 1e-12, (said, accuracy)
np.save(folder / "eight.npy", test["x"][:8])
np.savez(folder / "eight.npz", logits=logits[:8])
