"""folded-products.py OUT: writes the end of a transformer of pixels in fp16: a product
that is added to what the layer read, and a pointwise convolution of the sum,
among convolutions of the image."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

rng = np.random.default_rng(5)
IMAGE, WIDE, COLUMNS = [2, 80, 9, 9], 200, 80


def half(name, *shape, scale=1.0):
    values = rng.standard_normal(shape) * scale
    return onnx.numpy_helper.from_array(values.astype(np.float16), name)


tensors = [half("w", WIDE, COLUMNS, scale=WIDE ** -0.5), half("b", COLUMNS),
           half("v", COLUMNS, COLUMNS, 1, 1, scale=COLUMNS ** -0.5), half("c", COLUMNS),
           *(half(name, COLUMNS, COLUMNS, 1, 1, scale=COLUMNS ** -0.5)
             for name in ("before", "after")),
           onnx.numpy_helper.from_array(np.array(IMAGE), "shape")]
nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]),
         helper.make_node("Add", ["p", "b"], ["q"]),
         helper.make_node("Add", ["r", "q"], ["s"]),
         helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
         helper.make_node("Reshape", ["t", "shape"], ["u"]),
         helper.make_node("Conv", ["u", "v", "c"], ["z"]),
         helper.make_node("Conv", ["i", "before"], ["image"]),
         helper.make_node("Add", ["image", "z"], ["sum"]),
         helper.make_node("Conv", ["sum", "after"], ["next"]),
         helper.make_node("Add", ["image", "next"], ["y"])]


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)


graph = helper.make_graph(
    nodes, "folded", [info("x", [2, 81, WIDE]), info("r", [2, 81, COLUMNS]), info("i", IMAGE)],
    [info("y", IMAGE)], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                            ir_version=10), sys.argv[1])
