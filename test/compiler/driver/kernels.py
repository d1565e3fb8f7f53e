"""Writes models whose kernels kernels.test counts."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
         for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
         for n, s in outputs.items()],
        [numpy_helper.from_array(w, n) for n, w in weights])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
        f"{sys.argv[1]}/{name}.onnx")


# The same operator over two sizes, too large for one kernel to compute side by side.
save("copies",
     [helper.make_node("Relu", ["a"], ["x"], name="small"),
      helper.make_node("Relu", ["b"], ["y"], name="large")],
     {"a": [300, 512], "b": [500, 512]}, {"x": [300, 512], "y": [500, 512]})

# Products of many sizes, whose kernels are long.
sizes = [64 * n for n in range(2, 14)]
save("products",
     [helper.make_node("MatMul", [f"x{i}", f"w{i + 1}"], [f"x{i + 1}"],
                       name=f"product{i}") for i in range(len(sizes) - 1)],
     {"x0": [128, sizes[0]]}, {f"x{len(sizes) - 1}": [128, sizes[-1]]},
     [(f"w{i + 1}", np.zeros((sizes[i], sizes[i + 1]), np.float32))
      for i in range(len(sizes) - 1)])
