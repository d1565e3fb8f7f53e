"""Writes two models with one weight under two names, and another that differs."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = np.random.default_rng(1).random((64, 64), np.float32)
ramp = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
for file, name, other in ("a", "w", "ramp"), ("b", "onnx::MatMul_7", "other"):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", name], ["h"]),
         helper.make_node("MatMul", ["h", other], ["y"])], file,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])],
        [numpy_helper.from_array(weight, name), numpy_helper.from_array(ramp, other)])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]),
              f"{file}.onnx")
    ramp = ramp + 1
