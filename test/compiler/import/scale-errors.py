"""scale-errors.py KIND VALUE FILE: writes a product of bytes with a scale that
is none: of the input that is quantized (`x`), of the weights' third column
(`w`), or of the result of a QLinearMatMul (`y`); or whose weights have a zero
point of another type (`type`) or as many as VALUE says (`count`)."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

kind, value, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]


def tensor(name, array):
    return numpy_helper.from_array(array, name)


scales = np.full(3, 0.5, np.float32)
if kind == "w":
    scales[2] = value
zero = np.zeros(3, np.uint8 if kind == "type" else np.int8)
weights = [
    tensor("xs", np.float32(value if kind == "x" else 0.25)), tensor("xz", np.uint8(3)),
    tensor("w", np.arange(12, dtype=np.int8).reshape(4, 3)), tensor("ws", scales),
    tensor("wz", zero[:int(value)] if kind == "count" else zero),
    tensor("ys", np.float32(value)), tensor("yz", np.int8(0))]
nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"], "q")]
if kind == "y":
    nodes += [helper.make_node("QLinearMatMul", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz"],
                               ["p"], "p"),
              helper.make_node("DequantizeLinear", ["p", "ys", "yz"], ["y"], "y")]
else:
    nodes += [helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"], "d"),
              helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["e"], "e", axis=1),
              helper.make_node("MatMul", ["d", "e"], ["y"], "y")]
graph = helper.make_graph(
    nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 3])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9),
          path)
