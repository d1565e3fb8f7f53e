"""integer-wgmma.py OUT: writes two products of bytes that are worth WGMMA, the
second with a zero point on the right."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = (np.arange(512 * 512) % 251 - 125).astype(np.int8).reshape(512, 512)
nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"]),
         helper.make_node("MatMulInteger", ["x", "w", "", "zero"], ["z"])]
graph = helper.make_graph(
    nodes, "product",
    [helper.make_tensor_value_info("x", TensorProto.UINT8, [2048, 512])],
    [helper.make_tensor_value_info(name, TensorProto.INT32, [2048, 512]) for name in "yz"],
    [numpy_helper.from_array(weights, "w"),
     numpy_helper.from_array(np.array(3, np.int8), "zero")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
