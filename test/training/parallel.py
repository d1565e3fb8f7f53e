"""Writes chains of products with weights that are not there: wide.onnx has 3 of
64 MiB each, deep.onnx 6 of 4 MiB: parallel.py FOLDER"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])


def write_chain(name, width, count):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"])
         for i in range(count)],
        "net", [info("x0", TensorProto.FLOAT, (32, width))],
        [info(f"x{count}", TensorProto.FLOAT, (32, width))],
        [numpy_helper.from_array(np.zeros((width, width), np.float32), f"w{i}")
         for i in range(count)])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / f"{name}.onnx", save_as_external_data=True,
              location=f"{name}.bin")
    (folder / f"{name}.bin").unlink()


write_chain("wide", 4096, 3)
write_chain("deep", 1024, 6)
(folder / "mse.json").write_text(json.dumps(
    {"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd"}}))
