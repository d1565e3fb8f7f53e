"""wgmma-bytes.py OUT: writes a quantized network that wgmma_bytes computes: an
image convolved by windows and with a stride, pictures of few channels, a
residual, shortcuts, and rows that are quantized by scales and zero points of
each call."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from quantized_graph import node, nodes, quantize, tensor, tensors

rng = np.random.default_rng(7)


def weights(name, *shape):
    codes = tensor(f"{name}_codes", rng.integers(-127, 128, shape).astype(np.int8))
    scales = tensor(f"{name}_scales", rng.uniform(0.0005, 0.001, shape[0]).astype(np.float32))
    return node("DequantizeLinear", [codes, scales], name, axis=0)


x = node("Relu", ["image"], "positive")
x = quantize(x, 0.02, 0)
x = node("Conv", [x, weights("first", 256, 64, 3, 3)], "windows", pads=[1, 1, 1, 1])
x = quantize(node("Relu", [x], "relu"), 0.05, 0)
wide = x
x = node("Conv", [x, weights("second", 512, 256, 1, 1)], "strided", strides=[2, 2])
# Pointwise: the zero point becomes a number for each filter.
x = quantize(x, 0.0300117, 120)
node("Conv", [x, weights("third", 256, 512, 1, 1)], "y")
# MatMulInteger of codes whose zero point comes with the call.
nodes.append(helper.make_node("DynamicQuantizeLinear", ["rows"], ["codes", "scale", "zero"]))
matrix = tensor("matrix", rng.integers(-127, 128, (1040, 256)).astype(np.int8))
node("MatMulInteger", ["codes", matrix, "zero"], "z")
# An image of three channels, padded by its zero point: pixels are paired.
x = quantize("picture", 0.02, 117)
x = node("Conv", [x, weights("stem", 64, 3, 7, 7)], "stems", pads=[3, 3, 3, 3], strides=[2, 2])
node("Relu", [x], "v")
# One of even height and width: squares of pixels are one. Of what follows, a
# quantized result is added to a quantized residual and quantized again.
x = quantize("photo", 0.02, 114)
x = node("Conv", [x, weights("square", 64, 3, 7, 7)], "squares", pads=[3, 3, 3, 3],
         strides=[2, 2])
x = quantize(node("Relu", [x], "lit"), 0.0131459, 0)
inner = quantize(node("Conv", [x, weights("inner", 64, 64, 1, 1)], "inside"), 0.0173205, 117)
x = node("Relu", [node("Add", [inner, x], "sum")], "added")
x = quantize(x, 0.0171828, 0)
node("Identity", [x], "u")


def block(name, x, c, filters, window, stride, scales, zeros):
    """The last convolutions of a residual network's stage: a shortcut joins."""
    y = node("Conv", [x, weights(f"{name}_body", c, c, window, window)], f"{name}_b",
             pads=[window // 2] * 4, strides=[stride, stride])
    y = quantize(node("Relu", [y], f"{name}_r"), scales[0], 0)
    y = quantize(node("Conv", [y, weights(f"{name}_last", filters, c, 1, 1)], f"{name}_l"),
                 scales[1], zeros[0])
    short = node("Conv", [x, weights(f"{name}_short", filters, c, 1, 1)], f"{name}_s",
                 strides=[stride, stride])
    short = quantize(short, scales[2], zeros[1])
    y = node("Relu", [node("Add", [y, short], f"{name}_sum")], f"{name}_y")
    return quantize(y, scales[3], 0)


# Two products of one step of k each, and of several, of which one has a stride.
node("Identity", [block("narrow", x, 64, 160, 3, 1, (0.0713, 0.0311, 0.0119, 0.0247),
                        (131, 117))], "s")
node("Identity", [block("wide", wide, 256, 288, 1, 2, (0.0793, 0.0321, 0.0517, 0.0613),
                        (120, 134))], "t")
graph = helper.make_graph(
    nodes, "network",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 64, 40, 42]),
     helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, 70, 63]),
     helper.make_tensor_value_info("photo", TensorProto.FLOAT, [1, 3, 66, 60]),
     helper.make_tensor_value_info("rows", TensorProto.FLOAT, [300, 1040])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256, 20, 21]),
     helper.make_tensor_value_info("v", TensorProto.FLOAT, [1, 64, 35, 32]),
     helper.make_tensor_value_info("u", TensorProto.FLOAT, [1, 64, 33, 30]),
     helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 160, 33, 30]),
     helper.make_tensor_value_info("t", TensorProto.FLOAT, [1, 288, 20, 21]),
     helper.make_tensor_value_info("z", TensorProto.INT32, [300, 256])], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
