#!/usr/bin/env python3
"""Writes a small network and data for it: networks.py KIND FOLDER [TYPE]

    transformer     two layers of BERT, of which a few columns are far larger than
                    the others, as in trained ones (SmoothQuant, Xiao et al.,
                    2022, figure 4): weights of norms are large there, and the
                    weights that read these columns small
    residual        a residual network with batch norms, strides and pooling

Each gets KIND.onnx, calibration data KIND.npz and others KIND-test.npz, for
`batch` calls of a dynamic batch. TYPE is of weights, inputs and results:
float32 if it is not given, or float16, in KIND-float16.onnx and so on.
"""
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROWS, WIDTH, HEADS, INNER, CLASSES = 12, 64, 4, 128, 10
OUTLIERS, OUTLIER = (5, 17, 40), 60.0
random = np.random.default_rng(0)


class Network:
    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def weight(self, values: np.ndarray, dtype: type | None = None) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype or self.dtype), name))
        return name

    def shaped(self, x: str, *shape: int) -> str:
        return self.add("Reshape", x, self.weight(np.array(shape), np.int64))

    def write(self, path: str, x: list[int | str], y: str) -> None:
        self.nodes.append(helper.make_node("Identity", [y], ["y"], "y"))
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", element, x)],
            [helper.make_tensor_value_info("y", element, ["batch", CLASSES])],
            self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


def transformer(dtype: np.dtype) -> tuple[Network, list[int], str]:
    net = Network(dtype)
    large = np.ones(WIDTH)
    large[list(OUTLIERS)] = OUTLIER

    def dense(x: str, rows: int, columns: int, reads: np.ndarray | None = None) -> str:
        w = random.standard_normal((rows, columns)) / rows ** 0.5
        if reads is not None:
            w /= reads[:, None]
        bias = net.weight(random.standard_normal(columns) * 0.1)
        return net.add("Add", net.add("MatMul", x, net.weight(w)), bias)

    def norm(x: str) -> str:
        return net.add("LayerNormalization", x, net.weight(large * random.uniform(0.5, 1.5, WIDTH)),
                       net.weight(random.standard_normal(WIDTH) * 0.1), axis=-1)

    def heads(x: str, *order: int) -> str:
        return net.add("Transpose", net.shaped(x, -1, ROWS, HEADS, WIDTH // HEADS), perm=order)

    x = norm("x")
    for _ in range(2):
        q, k, v = (dense(x, WIDTH, WIDTH, large) for _ in range(3))
        scores = net.add("Mul", net.add("MatMul", heads(q, 0, 2, 1, 3), heads(k, 0, 2, 3, 1)),
                         net.weight(np.array((WIDTH // HEADS) ** -0.5)))
        mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), heads(v, 0, 2, 1, 3))
        mixed = net.shaped(net.add("Transpose", mixed, perm=[0, 2, 1, 3]), -1, ROWS, WIDTH)
        # Residual branches are as large as what they are added to, but for the
        # large columns: those pass through.
        x = norm(net.add("Add", net.add("Div", x, net.weight(large)), dense(mixed, WIDTH, WIDTH)))
        inner = dense(x, WIDTH, INNER, large)
        half = net.weight(np.array(0.5))
        gelu = net.add("Erf", net.add("Mul", inner, net.weight(np.array(0.5 ** 0.5))))
        gelu = net.add("Mul", inner, net.add("Add", half, net.add("Mul", gelu, half)))
        x = norm(net.add("Add", net.add("Div", x, net.weight(large)), dense(gelu, INNER, WIDTH)))
    first = net.add("Gather", x, net.weight(np.array(0), np.int64), axis=1)
    return net, [ROWS, WIDTH], dense(first, WIDTH, CLASSES, large)


def residual(dtype: np.dtype) -> tuple[Network, list[int], str]:
    net = Network(dtype)

    def conv(x: str, inputs: int, outputs: int, size: int, stride: int) -> str:
        w = random.standard_normal((outputs, inputs, size, size)) * (2 / inputs) ** 0.5 / size
        y = net.add("Conv", x, net.weight(w), strides=[stride] * 2, pads=[size // 2] * 4)
        rows = [random.uniform(0.7, 1.3, outputs), random.standard_normal(outputs) * 0.2,
                random.standard_normal(outputs) * 0.2, random.uniform(0.7, 1.3, outputs)]
        return net.add("BatchNormalization", y, *map(net.weight, rows))

    x = net.add("Relu", conv("x", 3, 16, 3, 1))
    x = net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    channels = 16
    for outputs, stride in (16, 1), (32, 2), (32, 1), (64, 2):
        y = conv(net.add("Relu", conv(x, channels, outputs, 3, stride)), outputs, outputs, 3, 1)
        short = x if channels == outputs else conv(x, channels, outputs, 1, stride)
        x = net.add("Relu", net.add("Add", y, short))
        channels = outputs
    pooled = net.shaped(net.add("GlobalAveragePool", x), -1, channels)
    w = random.standard_normal((channels, CLASSES)) / channels ** 0.5
    return net, [3, 32, 32], net.add("MatMul", pooled, net.weight(w))


kind, folder, *types = sys.argv[1:]
dtype = np.dtype(*types or ["float32"])
network, shape, result = {"transformer": transformer, "residual": residual}[kind](dtype)
name = "-".join([kind, *types])
network.write(f"{folder}/{name}.onnx", ["batch", *shape], result)
for suffix, count in ("", 32), ("-test", 64):
    np.savez(f"{folder}/{name}{suffix}.npz",
             x=random.standard_normal((count, *shape)).astype(dtype))
