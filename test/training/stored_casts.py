"""Writes a network of three products, the second with a single number, and a
training file. stored_casts.py FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
random = np.random.default_rng(3)
weights = {"first": random.standard_normal((4, 1)), "number": np.ones((1, 1)), "last": random.standard_normal((1, 6))}
names = ["x", "a", "b", "y"]
graph = helper.make_graph(
    [helper.make_node("MatMul", [x, weight], [y], weight) for x, weight, y in zip(names, weights, names[1:])],
    "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 4))],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 6))],
    [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
for optimizer in "adamw", "lamb":
    (folder / f"{optimizer}.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": optimizer, "learning_rate": 0.1}}))
