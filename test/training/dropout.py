"""Dropout that train.json puts into a model for inference.

    dropout.py FOLDER

The network is y = b * mean over 4096 elements of a, where a = 2 x. Both a and
the input can be dropped from.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

folder = Path(sys.argv[1])
SIZE = 4096
nodes = [helper.make_node("Mul", ["x", "two"], ["a"], "double"),
         helper.make_node("Identity", ["a"], ["same"], "nothing"),
         helper.make_node("ReduceMean", ["same"], ["m"], "mean", axes=[1]),
         helper.make_node("Mul", ["m", "w"], ["y"], "scale")]
graph = helper.make_graph(
    nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, SIZE))],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1))],
    [numpy_helper.from_array(np.float32(2), "two"), numpy_helper.from_array(np.ones(1, np.float32), "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          folder / "net.onnx")
inputs = {"x": np.ones((1, SIZE), np.float32), "target": np.zeros((1, 1), np.float32)}


def losses(name, dropout, seed=3, source="net.onnx"):
    """Three losses of train_step, which is y², and the one of eval_step."""
    (folder / "train.json").write_text(json.dumps(
        {"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd", "learning_rate": 0}, "dropout": dropout}))
    artifact = folder / f"{name}.so"
    subprocess.run(["fritc", folder / source, "--train=" + str(folder / "train.json"), "-march=x86-64", "-Werror",
                    "-o", artifact], check=True)
    step = Step(artifact)
    if any(entry["rate"] < 1 for entry in dropout):
        step.write(seed=np.int64(seed))
    found = [float(step.train(**inputs)["loss"]) for _ in range(3)], float(step.evaluate(**inputs)["loss"])
    step.close()
    return found


def kept(train):
    """The fractions of elements that were kept."""
    return np.sqrt(np.array(train)) / 2


train, evaluated = losses("none", [])
assert train == [4, 4, 4] and evaluated == 4
by_node, evaluated = losses("node", [{"after": ["doub*"], "rate": 0.25}])
fractions = kept(by_node) * 0.75
assert evaluated == 4
assert len(set(by_node)) == 3 and np.all(abs(fractions - 0.75) < 0.03), fractions
np.testing.assert_allclose(fractions * SIZE, np.round(fractions * SIZE), atol=0.01)
# A value by its own name, by that of a node that copies it, and from JSON.
assert losses("value", [{"after": ["a"], "rate": 0.25}])[0] == by_node
assert losses("copy", [{"after": ["same"], "rate": 0.25}])[0] == by_node
subprocess.run(["fritc", folder / "net.onnx", "--emit=json", "-o", folder / "net.json"], check=True)
assert losses("json", [{"after": ["double"], "rate": 0.25}], source="net.json")[0] == by_node
# Another seed draws other numbers; the first entry that matches applies.
assert losses("seed", [{"after": ["a"], "rate": 0.25}], seed=4)[0] != by_node
assert losses("first", [{"after": ["a"], "rate": 0.25}, {"after": ["double", "x"], "rate": 0}])[0] == by_node
# A rate of 1 drops all, as in PyTorch: no NaN, also not in the gradient.
assert losses("all", [{"after": ["a"], "rate": 1}]) == ([0, 0, 0], 4)
all_dropped = Step(folder / "all.so")
all_dropped.train(**inputs)
np.testing.assert_array_equal(all_dropped.read("w")["w"], [1])
all_dropped.close()
fractions = kept(losses("input", [{"after": ["x"], "rate": 0.5}])[0]) * 0.5
assert np.all(abs(fractions - 0.5) < 0.03), fractions
print("dropped")
