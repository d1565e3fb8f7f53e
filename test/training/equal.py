"""Writes a network as PyTorch's exporter does in eval mode: equal weights are
stored once and copied by Identity. equal.py FOLDER"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
info = helper.make_tensor_value_info
node = helper.make_node
graph = helper.make_graph(
    [node("Identity", ["norm.weight"], ["norm.running_var"]),
     node("Identity", ["norm.bias"], ["norm.running_mean"]),
     node("Identity", ["fc.weight"], ["tied"]),
     node("BatchNormalization", ["x", "norm.weight", "norm.bias",
                                 "norm.running_mean", "norm.running_var"], ["a"]),
     node("MatMul", ["a", "fc.weight"], ["b"]),
     node("MatMul", ["b", "tied"], ["y"])],
    "net", [info("x", TensorProto.FLOAT, (4, 6))], [info("y", TensorProto.FLOAT, (4, 6))],
    [numpy_helper.from_array(np.ones(6, np.float32), "norm.weight"),
     numpy_helper.from_array(np.zeros(6, np.float32), "norm.bias"),
     numpy_helper.from_array(np.eye(6, dtype=np.float32), "fc.weight")])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "equal.onnx")
(folder / "equal.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "sgd"}}))
