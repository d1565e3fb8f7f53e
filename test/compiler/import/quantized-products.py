"""Writes a model of integer products, inputs and exact results.

    quantized-products.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(5)
nodes, weights, inputs, outputs, given, expected = [], [], [], [], {}, {}


def whole(dtype, *shape):
    limit = np.iinfo(dtype)
    return random.integers(limit.min, limit.max + 1, shape).astype(dtype)


def weight(value):
    name = f"w{len(weights)}"
    weights.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def argument(value):
    name = f"x{len(inputs)}"
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    inputs.append(helper.make_tensor_value_info(name, kind, value.shape))
    given[name] = value
    return name


def node(op, operands, result, **attributes):
    name = f"y{len(outputs)}"
    kind = helper.np_dtype_to_tensor_dtype(result.dtype)
    outputs.append(helper.make_tensor_value_info(name, kind, result.shape))
    nodes.append(helper.make_node(op, operands, [name], name=name, **attributes))
    expected[name] = result


def centred(value, zero):
    return value.astype(np.int64) - int(zero)


def convolve(x, w, pads, stride, group=1):
    """Of x minus its zero point, so that padding is zero."""
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    high, wide = ((x.shape[2 + d] - w.shape[2 + d]) // stride + 1 for d in (0, 1))
    y = np.zeros((x.shape[0], w.shape[0], high, wide), np.int64)
    filters = w.shape[0] // group
    for k in range(w.shape[0]):
        first = k // filters * w.shape[1]
        for i in range(high):
            for j in range(wide):
                part = x[:, first:first + w.shape[1], i * stride:i * stride + w.shape[2],
                         j * stride:j * stride + w.shape[3]]
                y[:, k, i, j] = (part * w[k]).sum(axis=(1, 2, 3))
    return y


def quantize(values, zero):
    limit = np.iinfo(zero.dtype)
    return np.clip(np.rint(values) + int(zero), limit.min, limit.max).astype(zero.dtype)


# Few rows, many, and such that blocks of the sums are added.
for rows, depth, columns in ((1, 67, 131), (23, 129, 35), (9, 1401, 17)):
    a, b = whole(np.uint8, rows, depth), whole(np.int8, depth, columns)
    node("MatMulInteger", [argument(a), weight(b), weight(np.uint8(117)), weight(np.int8(0))],
         (centred(a, 117) @ centred(b, 0)).astype(np.int32))
a, b = whole(np.int8, 2, 5, 33), whole(np.int8, 33, 19)
node("MatMulInteger", [argument(a), weight(b), weight(np.int8(-7)), weight(np.int8(3))],
     (centred(a, -7) @ centred(b, 3)).astype(np.int32))
a, b = whole(np.uint8, 13, 40), whole(np.uint8, 40, 21)
node("MatMulInteger", [argument(a), weight(b), weight(np.uint8(1)), weight(np.uint8(128))],
     (centred(a, 1) @ centred(b, 128)).astype(np.int32))

x, w = whole(np.uint8, 1, 3, 15, 13), whole(np.int8, 19, 3, 5, 5)
node("ConvInteger", [argument(x), weight(w), weight(np.uint8(99)), weight(np.int8(0))],
     convolve(centred(x, 99), centred(w, 0), (2, 1, 0, 2), 2).astype(np.int32),
     pads=[2, 1, 0, 2], strides=[2, 2])
x, w = whole(np.uint8, 2, 37, 9, 7), whole(np.int8, 37, 1, 3, 3)
node("ConvInteger", [argument(x), weight(w), weight(np.uint8(30)), weight(np.int8(0))],
     convolve(centred(x, 30), centred(w, 0), (1, 1, 1, 1), 1, 37).astype(np.int32),
     pads=[1, 1, 1, 1], group=37)

# Powers of two, so that nothing depends on the order of multiplications.
scale = np.float32(2.) ** -random.integers(9, 13, 21).astype(np.float32)
bias = random.integers(-9999, 9999, 21).astype(np.int32)
x, w, zero = whole(np.uint8, 2, 18, 8, 7), whole(np.int8, 21, 18, 3, 3), np.uint8(11)
sums = convolve(centred(x, 128), centred(w, 0), (1, 1, 1, 1), 1) + bias.reshape(-1, 1, 1)
node("QLinearConv",
     [argument(x), weight(np.float32(.5)), weight(np.uint8(128)), weight(w), weight(scale),
      weight(np.zeros(21, np.int8)), weight(np.float32(2)), weight(zero), weight(bias)],
     quantize(sums * scale.reshape(-1, 1, 1) * .25, zero), pads=[1, 1, 1, 1])
a, b, zero = whole(np.int8, 3, 11, 45), whole(np.int8, 45, 21), np.int8(-5)
node("QLinearMatMul",
     [argument(a), weight(np.float32(.25)), weight(np.int8(4)), weight(b), weight(scale),
      weight(np.zeros(21, np.int8)), weight(np.float32(4)), weight(zero)],
     quantize((centred(a, 4) @ centred(b, 0)) * scale / 16, zero))

# A quantized operand, a dequantized weight, a bias, a relu and a quantization.
q, w, zero = whole(np.uint8, 6, 50), whole(np.int8, 50, 21), np.uint8(40)
bias = random.integers(-40, 40, 21).astype(np.float32)
half = weight(np.float32(.5))
nodes += [
    helper.make_node("DequantizeLinear", [argument(q), half, weight(np.uint8(128))], ["dq"]),
    helper.make_node("DequantizeLinear",
                     [weight(w), weight(scale), weight(np.zeros(21, np.int8))], ["dw"], axis=1),
    helper.make_node("MatMul", ["dq", "dw"], ["mm"]),
    helper.make_node("Add", ["mm", weight(bias)], ["sum"]),
    helper.make_node("Relu", ["sum"], ["relu"]),
]
node("QuantizeLinear", ["relu", weight(np.float32(4)), weight(zero)],
     quantize(np.maximum((centred(q, 128) @ centred(w, 0)) * scale / 2 + bias, 0) / 4, zero))

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
graph = helper.make_graph(nodes, "products", inputs, outputs, weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          folder / "products.onnx")
np.savez(folder / "products.in.npz", **given)
np.savez(folder / "products.out.npz", **expected)
