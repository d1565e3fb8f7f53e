"""float8-errors.py SCALE FILE: writes a product of 8-bit floats whose weights
have the scales 1, SCALE and 1; or, if SCALE is `zero`, a zero point of 1."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

E4M3 = TensorProto.FLOAT8E4M3FN
scale = 1.0 if sys.argv[1] == "zero" else float(sys.argv[1])
zero = 0x38 if sys.argv[1] == "zero" else 0  # 1.0
weights = [
    helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]),
    helper.make_tensor("z", E4M3, [], bytes([zero]), raw=True),
    helper.make_tensor("w", E4M3, [4, 3], bytes(range(12)), raw=True),
    helper.make_tensor("t", TensorProto.FLOAT, [3], np.array([1, scale, 1], np.float32).tobytes(),
                       raw=True),
    helper.make_tensor("v", E4M3, [3], bytes(3), raw=True)]
nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "q"),
         helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "d"),
         helper.make_node("DequantizeLinear", ["w", "t", "v"], ["e"], "e", axis=1),
         helper.make_node("MatMul", ["d", "e"], ["y"], "y")]
graph = helper.make_graph(
    nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 3])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9),
          sys.argv[2])
