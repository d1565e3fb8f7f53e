"""Compares exported models with exported weights and with what evaluation said:
check_export.py FOLDER. Writes an input and its result for the new model."""
import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

folder = Path(sys.argv[1])


def weights_of(name):
    model = onnx.load(folder / name)
    onnx.checker.check_model(model)
    return {tensor.name: numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer}


data = (folder / "new.safetensors").read_bytes()
length, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + length])
assert sorted(header) == ["fc.bias", "fc.weight"], header
trained = {}
for name, entry in header.items():
    start, end = (8 + length + offset for offset in entry["data_offsets"])
    trained[name] = np.frombuffer(data[start:end], np.float32).reshape(entry["shape"])
    assert np.abs(trained[name]).max() > 0.1

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
