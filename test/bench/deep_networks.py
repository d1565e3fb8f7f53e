"""Writes an ONNX network of any depth, to run or to train:

    deep_networks.py tower 7000 tower.onnx

Every kind is a function of the number of nodes and the file to write. Weights
are random, by a fixed seed. A train.json with `LOSS` trains each of them."""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LOSS = {"kind": "cross_entropy"}
CLASSES = 10


class Builder:
    """Layers, one after another."""

    def __init__(self):
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(1)

    def op(self, kind: str, *operands: str, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name],
                                           name=f"n{len(self.nodes)}",
                                           **attributes))
        return name

    def weight(self, *shape: int) -> str:
        value = self.random.standard_normal(shape) / shape[-1] ** 0.5
        return self.constant(value.astype(np.float32))

    def constant(self, value: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.op("MatMul", x, self.weight(inputs, outputs))
        return self.op("Add", product, self.weight(outputs))

    def conv(self, x: str, inputs: int, outputs: int) -> str:
        return self.op("Conv", x, self.weight(outputs, inputs, 3, 3),
                       pads=[1, 1, 1, 1])

    def batch_norm(self, x: str, channels: int) -> str:
        ones = np.ones(channels, np.float32)
        return self.op("BatchNormalization", x, self.weight(channels),
                       self.weight(channels), self.constant(0 * ones),
                       self.constant(ones))

    def layer_norm(self, x: str, width: int) -> str:
        return self.op("LayerNormalization", x, self.weight(width),
                       self.weight(width))

    def classify(self, image: str, channels: int) -> str:
        pooled = self.op("GlobalAveragePool", image)
        return self.linear(self.op("Flatten", pooled), channels, CLASSES)

    def write(self, file: Path, shape: tuple[int, ...], y: str) -> None:
        def value(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "deep", [value("x", shape)],
                                  [value(y, None)], self.weights)
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=9), file)


def tower(nodes: int, file: Path) -> None:
    """Residual blocks of two convolutions with batch norms."""
    b, x, channels = Builder(), "x", 16
    for _ in range(nodes // 7):
        y = b.op("Relu", b.batch_norm(b.conv(x, channels, channels), channels))
        y = b.batch_norm(b.conv(y, channels, channels), channels)
        x = b.op("Relu", b.op("Add", x, y))
    b.write(file, (16, channels, 16, 16), b.classify(x, channels))


def perceptron(nodes: int, file: Path) -> None:
    """Matrices, biases and relus."""
    b, x, width = Builder(), "x", 64
    for _ in range(nodes // 3):
        x = b.op("Relu", b.linear(x, width, width))
    b.write(file, (1024, width), b.linear(x, width, CLASSES))


def transformer(nodes: int, file: Path) -> None:
    """Layers of GPT: norm, attention, norm, two matrices."""
    b, x, width, heads, batch, length = Builder(), "x", 64, 2, 4, 256
    split = b.constant(np.array([batch, length, heads, width // heads]))
    whole = b.constant(np.array([batch, length, width]))
    scale = b.constant(np.float32((width // heads) ** -0.5))
    for _ in range(nodes // 26):
        y = b.layer_norm(x, width)
        q, k, v = (b.op("Reshape", b.linear(y, width, width), split)
                   for _ in range(3))
        scores = b.op("MatMul", b.op("Transpose", q, perm=[0, 2, 1, 3]),
                      b.op("Transpose", k, perm=[0, 2, 3, 1]))
        weights = b.op("Softmax", b.op("Mul", scores, scale), axis=-1)
        y = b.op("MatMul", weights, b.op("Transpose", v, perm=[0, 2, 1, 3]))
        y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), whole)
        x = b.op("Add", x, b.linear(y, width, width))
        y = b.op("Gelu", b.linear(b.layer_norm(x, width), width, 4 * width))
        x = b.op("Add", x, b.linear(y, 4 * width, width))
    b.write(file, (batch, length, width), b.linear(x, width, CLASSES))


def unet(nodes: int, file: Path) -> None:
    """Convolutions down, and up again beside what each level had."""
    b, x, channels, down = Builder(), "x", 16, []
    for _ in range(nodes // 5):
        x = b.op("Relu", b.conv(x, channels, channels))
        down.append(x)
    for skipped in reversed(down):
        x = b.op("Concat", x, skipped, axis=1)
        x = b.op("Relu", b.conv(x, 2 * channels, channels))
    b.write(file, (16, channels, 16, 16), b.classify(x, channels))


def gates(nodes: int, file: Path) -> None:
    """Sums of two functions of the sum before, between two matrices."""
    b, width = Builder(), 64
    x = b.linear("x", width, width)
    for _ in range(nodes // 3):
        x = b.op("Add", b.op("Sigmoid", x), b.op("Tanh", x))
    b.write(file, (1024, width), b.linear(x, width, CLASSES))


NETWORKS = {kind.__name__: kind
            for kind in (tower, perceptron, transformer, unet, gates)}

if __name__ == "__main__":
    NETWORKS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))
