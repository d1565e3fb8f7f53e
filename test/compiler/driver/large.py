"""Makes a model whose 4 GB of weights are in a missing file: large.py FILE"""
import sys

import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1 << 30])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1 << 30])
weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 30],
                     data_location=TensorProto.EXTERNAL)
weight.external_data.add(key="location", value="absent.bin")
graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), sys.argv[1])
