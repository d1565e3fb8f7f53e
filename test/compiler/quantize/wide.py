"""Writes models whose weights are codes: wide.py FOLDER"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.chdir(sys.argv[1])
K, N = 256, 128
rng = np.random.default_rng(0)


def save(name, nodes, weights, kind, domain=""):
    x, y = (helper.make_tensor_value_info(n, kind, [2, size]) for n, size in [("x", K), ("y", N)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1),
              helper.make_opsetid("trt", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], weights),
                                opset_imports=opsets, ir_version=10), f"{name}.onnx")


def blocks(name, kind, block, axis, operator=("", "DequantizeLinear")):
    """A product by a matrix of int4 with a scale for each block along an axis."""
    float_type = np.float16 if kind == TensorProto.FLOAT16 else np.float32
    shape = [K, N]
    shape[axis] //= block
    codes = rng.integers(-7, 8, (K, N))
    weights = [helper.make_tensor("w", TensorProto.INT4, [K, N], codes.flatten().tolist()),
               numpy_helper.from_array((rng.random(shape) * 0.1).astype(float_type), "scales")]
    domain, kind_of_node = operator
    nodes = [helper.make_node(kind_of_node, ["w", "scales"], ["d"], domain=domain, axis=axis,
                              block_size=block),
             helper.make_node("MatMul", ["x", "d"], ["y"], name="product")]
    save(name, nodes, weights, kind)
    return codes, weights[1]


blocks("half", TensorProto.FLOAT16, 128, 0)
blocks("float", TensorProto.FLOAT, 128, 0)
blocks("columns", TensorProto.FLOAT16, 128, 1)
blocks("short", TensorProto.FLOAT, 16, 0)

# Model Optimizer's own operators of int4 have ONNX's meaning.
for own in ["DequantizeLinear", "TRT_INT4DequantizeLinear"]:
    codes, scales = blocks(own, TensorProto.FLOAT, 64, 0, ("trt", own))
    x = rng.standard_normal((2, K)).astype(np.float32)
    np.savez(f"{own}.in.npz", x=x)
    np.savez(f"{own}.npz",
             y=x @ (codes * np.repeat(numpy_helper.to_array(scales), 64, 0)).astype(np.float32))

# Floats that Model Optimizer has yet to round are no codes.
node = helper.make_node("DequantizeLinear", ["w", "scale"], ["d"], domain="trt", name="unrounded",
                        axis=0, block_size=64)
save("unrounded", [node, helper.make_node("MatMul", ["x", "d"], ["y"])],
     [numpy_helper.from_array(rng.random((K, N)).astype(np.float32), "w"),
      numpy_helper.from_array(np.full((4, N), 0.1, np.float32), "scale")], TensorProto.FLOAT)
