"""Writes a perceptron with GELU, whose bias gradient the kernel of the product
before it sums, and its train.json.

    gelu.py FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
rng = np.random.default_rng(1)
weights = {
    "up.weight": rng.standard_normal((32, 384)) / 4,
    "up.bias": np.zeros(384),
    "down.weight": rng.standard_normal((384, 8)) / 16,
    "down.bias": np.zeros(8)}
node = helper.make_node
nodes = [node("MatMul", ["x", "up.weight"], ["a"], "up"),
         node("Add", ["a", "up.bias"], ["b"], "shift"),
         node("Gelu", ["b"], ["c"], "gelu"),
         node("MatMul", ["c", "down.weight"], ["d"], "down"),
         node("Add", ["d", "down.bias"], ["y"], "last")]
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "gelu", [info("x", TensorProto.FLOAT, (1024, 32))],
    [info("y", TensorProto.FLOAT, (1024, 8))],
    [numpy_helper.from_array(value.astype(np.float32), name)
     for name, value in weights.items()])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
    folder / "gelu.onnx")
(folder / "gelu.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"},
     "optimizer": {"kind": "sgd", "learning_rate": 1.0}}))
