"""integer-wgmma.py OUT: writes a product of bytes that is worth WGMMA."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = (np.arange(512 * 512) % 251 - 125).astype(np.int8).reshape(512, 512)
node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
graph = helper.make_graph(
    [node], "product",
    [helper.make_tensor_value_info("x", TensorProto.UINT8, [2048, 512])],
    [helper.make_tensor_value_info("y", TensorProto.INT32, [2048, 512])],
    [numpy_helper.from_array(weights, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
