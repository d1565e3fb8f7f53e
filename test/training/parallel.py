"""Writes a chain of three products, each 64 MiB of weights that are not there:
parallel.py FOLDER"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
info = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w0"], ["a"]),
     helper.make_node("MatMul", ["a", "w1"], ["b"]),
     helper.make_node("MatMul", ["b", "w2"], ["y"])],
    "net", [info("x", TensorProto.FLOAT, (32, 4096))],
    [info("y", TensorProto.FLOAT, (32, 4096))],
    [numpy_helper.from_array(np.zeros((4096, 4096), np.float32), f"w{i}")
     for i in range(3)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                          ir_version=8)
onnx.save(model, folder / "wide.onnx", save_as_external_data=True,
          location="wide.bin")
(folder / "wide.bin").unlink()
(folder / "wide.json").write_text(json.dumps(
    {"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd"}}))
