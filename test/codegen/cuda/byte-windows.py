"""byte-windows.py OUT: writes a quantized network of convolutions that are
padded by zero points other than 0, of filters that are no multiple of 32, of a
filter for each channel, and, as its last, of two groups."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from quantized_graph import node, nodes, quantize, tensor, tensors

rng = np.random.default_rng(11)


def convolve(x, name, filters, channels, window, group=1, **attributes):
    """Convolves, and quantizes the result by a zero point of 117."""
    codes = tensor(f"{name}_bytes", rng.integers(
        -127, 128, (filters, channels // group, window, window)).astype(np.int8))
    scales = tensor(f"{name}_scales", rng.uniform(0.0005, 0.001, filters).astype(np.float32))
    w = node("DequantizeLinear", [codes, scales], f"{name}_weights", axis=0)
    pads = [window // 2] * 4
    y = node("Conv", [x, w], name, pads=pads, group=group, **attributes)
    return quantize(y, 0.0513117, 117)


x = quantize("image", 0.0217119, 113)
x = convolve(x, "padded", 48, 32, 3)
x = convolve(x, "each", 48, 48, 3, group=48)
x = convolve(x, "strided", 48, 48, 5, group=48, strides=[2, 2])
x = convolve(x, "narrow", 30, 48, 1)
x = convolve(x, "odd", 30, 30, 3, group=30)
if sys.argv[2:] == ["groups"]:
    x = convolve(x, "halves", 30, 30, 3, group=2)
node("Identity", [x], "y")
graph = helper.make_graph(
    nodes, "network",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [2, 32, 13, 18])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 30, 7, 9])], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
