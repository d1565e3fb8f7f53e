"""group-norms.py OUT: writes a residual block in fp16 as exporters write it: the
norms of groups are instance norms of a reshaped tensor, with numbers of a time
step added before the second."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

rng = np.random.default_rng(7)
nodes, tensors = [], []


def tensor(name, values):
    tensors.append(onnx.numpy_helper.from_array(values, name))
    return name


def half(name, *shape, scale=1.0, shift=0.0):
    values = rng.standard_normal(shape) * scale + shift
    return tensor(name, values.astype(np.float16))


def node(op, inputs, name, **attributes):
    nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
    return name


def norm(x, name, channels, side, groups=8):
    rows = tensor(f"{name}_rows", np.array([2, groups, -1]))
    image = tensor(f"{name}_image", np.array([2, channels, side, side]))
    ones = tensor(f"{name}_ones", np.ones(groups, np.float16))
    zeros = tensor(f"{name}_zeros", np.zeros(groups, np.float16))
    y = node("Reshape", [x, rows], f"{name}_to_rows")
    y = node("InstanceNormalization", [y, ones, zeros], name)
    y = node("Reshape", [y, image], f"{name}_to_image")
    y = node("Mul", [y, half(f"{name}_scale", channels, 1, 1, shift=1)],
             f"{name}_scaled")
    y = node("Add", [y, half(f"{name}_bias", channels, 1, 1)], f"{name}_moved")
    return node("Mul", [y, node("Sigmoid", [y], f"{name}_gate")],
                f"{name}_silu")


def convolve(x, name, filters, channels):
    w = half(f"{name}_w", filters, channels, 3, 3, scale=0.1)
    return node("Conv", [x, w, half(f"{name}_b", filters)], name,
                pads=[1, 1, 1, 1])


h = convolve("image", "enter", 64, 16)
y = convolve(norm(h, "first", 64, 9), "inner", 80, 64)
y = node("Add", [y, "step"], "timed")
y = convolve(norm(y, "second", 80, 9), "outer", 64, 80)
node("Add", [h, y], "y")
graph = helper.make_graph(
    nodes, "block",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT16, [2, 16, 9, 9]),
     helper.make_tensor_value_info("step", TensorProto.FLOAT16, [2, 80, 1, 1])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 64, 9, 9])],
    tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
