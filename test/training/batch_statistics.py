"""Writes a convolution with a batch norm, whose statistics the kernel of the
convolution takes in parts, and its train.json.

    batch_statistics.py FOLDER
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
    "conv.weight": rng.standard_normal((32, 8, 1, 1)) / 3,
    "norm.weight": rng.uniform(0.5, 1.5, 32),
    "norm.bias": rng.standard_normal(32),
    "norm.running_mean": np.zeros(32), "norm.running_var": np.ones(32),
    "fc.weight": rng.standard_normal((6, 32)) / 6, "fc.bias": np.zeros(6)}
node = helper.make_node
nodes = [node("Conv", ["x", "conv.weight"], ["a"], "conv"),
         node("BatchNormalization", ["a", *list(weights)[1:5]],
              ["b", "mean", "var"], "norm", training_mode=1),
         node("Relu", ["b"], ["c"], "relu"),
         node("GlobalAveragePool", ["c"], ["d"], "pool"),
         node("Flatten", ["d"], ["e"], "flat"),
         node("Gemm", ["e", "fc.weight", "fc.bias"], ["y"], "fc", transB=1)]
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "statistics", [info("x", TensorProto.FLOAT, (8, 8, 32, 32))],
    [info("y", TensorProto.FLOAT, (8, 6))],
    [numpy_helper.from_array(value.astype(np.float32), name)
     for name, value in weights.items()])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "statistics.onnx")
(folder / "statistics.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"},
     "optimizer": {"kind": "sgd", "learning_rate": 0.1}}))
