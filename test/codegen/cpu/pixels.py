"""Writes a convolutional network, an image and NumPy's results: pixels.py
MODEL.onnx INPUTS.npz EXPECTED.npz

It has the parts of MobileNetV3 and YOLO that have kernels or loops of their own
with channels last: few channels, depthwise layers, squeeze and excitation, hard
swish, group norms, concatenations, slices, nearest-neighbour resizing, and pooling of 3 x 3
and 5 x 5. A second branch is one-dimensional, with dilation and a transposed
convolution, as in HiFi-GAN."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(5)
nodes, constants = [], []


def constant(value) -> str:
    constants.append(numpy_helper.from_array(value, f"c{len(constants)}"))
    return constants[-1].name


def op(kind, value, /, *operands, **attributes):
    """Adds a node with NumPy's result; operands are (name, value)."""
    nodes.append(helper.make_node(kind, [name for name, _ in operands],
                                  [f"v{len(nodes)}"], **attributes))
    return nodes[-1].output[0], value


def conv(x, filters, size, stride=1, group=1, dilation=1):
    """A convolution over 1 or 2 dimensions that keeps the image's size."""
    value = x[1]
    rank, channels = value.ndim - 2, value.shape[1]
    inside, pad = channels // group, (size - 1) * dilation // 2
    w = (random.normal(size=(filters, inside) + (size,) * rank)
         / np.sqrt(inside * size ** rank)).astype("f4")
    bias = random.normal(size=filters).astype("f4")
    padded = np.pad(value, [(0, 0), (0, 0)] + [(pad, pad)] * rank)
    reach = (size - 1) * dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, (reach,) * rank, tuple(range(2, 2 + rank)))
    some = (slice(None), slice(None)) + (slice(None, None, stride),) * rank
    windows = windows[some + (slice(None, None, dilation),) * rank]
    parts = []
    for g in range(group):
        own = slice(g * filters // group, (g + 1) * filters // group)
        parts.append(np.einsum(
            "ncpqrs,kcrs->nkpq" if rank == 2 else "ncpr,kcr->nkp",
            windows[:, g * inside:(g + 1) * inside], w[own]))
    y = np.concatenate(parts, 1) + bias.reshape((-1,) + (1,) * rank)
    return op("Conv", y, x, (constant(w), w), (constant(bias), bias),
              strides=[stride] * rank, pads=[pad] * 2 * rank, group=group,
              dilations=[dilation] * rank)


def relu(x):
    return op("Relu", np.maximum(x[1], 0), x)


def swish(x):
    return op("HardSwish", x[1] * np.clip(x[1] / 6 + 0.5, 0, 1), x)


def silu(x):
    gate = op("Sigmoid", 1 / (1 + np.exp(-x[1])), x)
    return op("Mul", x[1] * gate[1], x, gate)


def pool(x, size):
    pad = size // 2
    padded = np.pad(x[1], [(0, 0), (0, 0), (pad, pad), (pad, pad)],
                    constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size),
                                                       (2, 3))
    return op("MaxPool", windows.max((4, 5)), x, kernel_shape=[size, size],
              pads=[pad] * 4)


def group_norm(x, groups):
    """A group norm as exporters write it."""
    shape, count = x[1].shape, x[1].shape[1]
    rows = x[1].reshape(shape[0], groups, -1)
    named = [(constant(v), v) for v in (
        np.array([0, groups, -1]), np.array(shape),
        random.normal(size=(count, 1, 1)).astype("f4"),
        random.normal(size=(count, 1, 1)).astype("f4"))]
    y = op("Reshape", rows, x, named[0])
    normed = ((rows - rows.mean(2, keepdims=True))
              / np.sqrt(rows.var(2, keepdims=True) + 1e-5))
    one, zero = (op("Constant", None, value=numpy_helper.from_array(
        np.full(groups, value, "f4"))) for value in (1, 0))
    y = op("InstanceNormalization", normed, y, one, zero, epsilon=1e-5)
    y = op("Reshape", normed.reshape(shape), y, named[1])
    y = op("Mul", y[1] * named[2][1], y, named[2])
    return op("Add", y[1] + named[3][1], y, named[3])


def excite(x):
    mean = op("GlobalAveragePool", x[1].mean((2, 3), keepdims=True), x)
    gate = conv(relu(conv(mean, 8, 1)), x[1].shape[1], 1)
    gate = op("HardSigmoid", np.clip(gate[1] / 6 + 0.5, 0, 1), gate,
              alpha=1 / 6)
    return op("Mul", x[1] * gate[1], x, gate)


def concat(*xs):
    return op("Concat", np.concatenate([x[1] for x in xs], 1), *xs, axis=1)


def channels(x, first, end):
    bounds = [np.array([v]) for v in (first, end, 1)]
    named = [(constant(b), b) for b in bounds]
    return op("Slice", x[1][:, first:end], x, *named)


def double(x):
    scales = np.array([1, 1, 2, 2], "f4")
    return op("Resize", x[1].repeat(2, 2).repeat(2, 3), x, ("", None),
              (constant(scales), scales), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")


image = random.normal(size=(2, 3, 32, 28)).astype("f4")
x = swish(conv(("image", image), 16, 3, stride=2))
y = excite(relu(conv(conv(x, 40, 1), 40, 5, group=40)))
y = conv(y, 16, 1)
y = op("Add", y[1] + x[1], y, x)
z = silu(group_norm(conv(y, 72, 3, stride=2), 8))
z = concat(channels(z, 0, 24), pool(z, 3), pool(z, 5), channels(z, 24, 72))
z = conv(concat(double(z), y, conv(x, 24, 3, group=4)), 21, 1)

signal = random.normal(size=(1, 12, 40)).astype("f4")
s = relu(conv(("signal", signal), 20, 7, dilation=3))
w = (random.normal(size=(20, 9, 4)) / 5).astype("f4")
grown = np.zeros((1, 9, 2 * 40 + 2), "f4")
for at in range(40):
    grown[:, :, 2 * at:2 * at + 4] += np.einsum("nc,ckr->nkr", s[1][:, :, at],
                                                w)
s = op("ConvTranspose", grown[:, :, 1:-1], s, (constant(w), w), strides=[2],
       pads=[1, 1])
s = conv(s, 1, 11, dilation=5)

results = (z, s)
graph = helper.make_graph(
    nodes, "pixels",
    [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
     for name, value in (("image", image), ("signal", signal))],
    [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
     for name, value in results], constants)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                            ir_version=9), sys.argv[1])
np.savez(sys.argv[2], image=image, signal=signal)
np.savez(sys.argv[3], **dict(results))
