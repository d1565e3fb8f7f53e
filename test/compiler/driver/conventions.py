"""Makes models whose outputs are declared wrongly: conventions.py FOLDER"""
import os
import sys

import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
relu = helper.make_node("Relu", ["x"], ["y"])
declared = {"type": [helper.make_tensor_value_info("y", TensorProto.INT64, [2])],
            "twice": 2 * [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]}
for name, outputs in declared.items():
    model = helper.make_model(helper.make_graph([relu], "g", [x], outputs),
                              opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, os.path.join(sys.argv[1], f"{name}.onnx"))
