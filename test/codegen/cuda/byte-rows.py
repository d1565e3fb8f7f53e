"""byte-rows.py OUT: writes a quantized network that byte_rows computes: a tall
picture of few channels, convolved as it is and with padding, and back-to-back
convolutions with a residual and without one."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from quantized_graph import node, nodes, quantize, tensor, tensors

rng = np.random.default_rng(11)
HEIGHT, WIDTH = 1056, 48  # as many tiles as blocks need


def conv(name, x, filters, channels, window, pads=(0, 0, 0, 0)):
    codes = tensor(f"{name}_bytes",
                   rng.integers(-127, 128, (filters, channels, *window)).astype(np.int8))
    scales = tensor(f"{name}_steps", rng.uniform(0.0005, 0.001, filters).astype(np.float32))
    w = node("DequantizeLinear", [codes, scales], f"{name}_w", axis=0)
    return node("Conv", [x, w], name, pads=list(pads))


def relu(name, x, scale):
    return quantize(node("Relu", [x], f"{name}_r"), scale, 0)


x = quantize(node("Relu", ["picture"], "positive"), 0.0201, 0)
bare = quantize(node("Relu", ["bare"], "bright"), 0.0199, 0)
node("Identity", [relu("bare", conv("bare_c", bare, 32, 16, (1, 2)), 0.0131)], "u")
# What a convolution becomes has another reader: no pointwise one follows it.
y = relu("first", conv("first_c", x, 32, 32, (1, 3), (0, 1, 0, 1)), 0.0231)
node("Identity", [y], "v")
y = relu("second", conv("second_c", y, 32, 32, (1, 3), (0, 1, 0, 1)), 0.0317)
wide = relu("wide", conv("wide_c", y, 128, 32, (1, 1)), 0.0117)
node("Identity", [wide], "t")
y = relu("third", conv("third_c", x, 32, 32, (2, 1), (1, 0, 0, 0)), 0.0219)
y = quantize(conv("last_c", y, 128, 32, (1, 1)), 0.0173, 119)
y = node("Relu", [node("Add", [y, wide], "sum")], "added")
node("Identity", [quantize(y, 0.0271828, 0)], "y")
shapes = {"u": 32, "v": 32, "t": 128, "y": 128}
widths = {"u": WIDTH + 4}
graph = helper.make_graph(
    nodes, "network",
    [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 32, HEIGHT, WIDTH]),
     helper.make_tensor_value_info("bare", TensorProto.FLOAT, [1, 16, HEIGHT, WIDTH + 5])],
    [helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                   [1, shapes[name], HEIGHT, widths.get(name, WIDTH)])
     for name in shapes], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=8), sys.argv[1])
