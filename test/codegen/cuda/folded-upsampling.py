"""folded-upsampling.py OUT: writes convolutions of an image and of its double, which
another one is put beside, in fp16."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

rng = np.random.default_rng(5)
ROWS, COLUMNS, CHANNELS, FILTERS = 9, 10, 64, 48


def half(name, *shape, scale=1.0):
    values = rng.standard_normal(shape) * scale
    return onnx.numpy_helper.from_array(values.astype(np.float16), name)


tensors = [half("w", FILTERS, CHANNELS, 3, 3, scale=(9 * CHANNELS) ** -0.5), half("b", FILTERS),
           half("before", CHANNELS, CHANNELS, 1, 1, scale=CHANNELS ** -0.5),
           onnx.numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")]
nodes = [helper.make_node("Conv", ["x", "before"], ["image"]),
         helper.make_node("Resize", ["image", "", "scales"], ["double"], mode="nearest",
                          coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
         helper.make_node("Conv", ["double", "w", "b"], ["z"], pads=[1, 1, 1, 1]),
         helper.make_node("Concat", ["z", "other"], ["y"], axis=1)]


def info(name, channels, times):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT16,
                                         [2, channels, times * ROWS, times * COLUMNS])


graph = helper.make_graph(
    nodes, "folded", [info("x", CHANNELS, 1), info("other", 16, 2)],
    [info("y", FILTERS + 16, 2)], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                            ir_version=10), sys.argv[1])
