"""Writes an ONNX graph of any number of nodes:

    deep_graphs.py chain 20000 chain.onnx

Every kind is a function of the number of nodes and the file to write. Constants
and the choice of operators are random, by a fixed seed, where it is not said
otherwise: a model that repeats itself has few kernels."""
import random
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (16, 24)
CHEAP = ("Add", "Mul", "Sub", "Max", "Min", "Relu", "Neg", "Abs")
FUNCTIONS = ("Exp", "Tanh", "Sin", "Sigmoid", "Sqrt", "Erf", "Cos", "Log")


class Builder:
    """Nodes, one after another."""

    def __init__(self, inputs: int = 1, seed: int = 1):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.inputs = [f"x{i}" for i in range(inputs)]
        self.random = random.Random(seed)

    def op(self, kind: str, *operands: str, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name],
                                           name=f"n{len(self.nodes)}",
                                           **attributes))
        return name

    def constant(self, value) -> str:
        array = np.asarray(value)
        name = f"c{array.dtype}{array.ravel().tolist()}{array.shape}"
        self.constants.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def number(self) -> str:
        return self.constant(np.float32(self.random.randint(1, 400) / 100))

    def elementwise(self, x: str) -> str:
        """An elementwise operator of x; one in eight is transcendental."""
        if self.random.random() < 1 / 8:
            return self.op(self.random.choice(FUNCTIONS), x)
        kind = self.random.choice(CHEAP)
        unary = kind in ("Relu", "Neg", "Abs")
        return self.op(kind, x) if unary else self.op(kind, x, self.number())

    def write(self, file: Path, *outputs: str) -> None:
        def value(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(
            self.nodes, "deep", [value(x, SHAPE) for x in self.inputs],
            [value(y, None) for y in outputs], list(self.constants.values()))
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)],
            ir_version=9), file)


def chain(nodes: int, file: Path) -> None:
    """One elementwise operator after another."""
    b = Builder()
    x = "x0"
    for _ in range(nodes):
        x = b.elementwise(x)
    b.write(file, x)


def repeated(nodes: int, file: Path) -> None:
    """Sine, product, sum, repeated identically."""
    b = Builder()
    x, half = "x0", b.constant(np.float32(0.5))
    for i in range(nodes):
        x = b.op("Sin", x) if i % 3 == 0 else \
            b.op("Mul" if i % 3 == 1 else "Add", x, half)
    b.write(file, x)


def fan_out(nodes: int, file: Path) -> None:
    """Many operators of one value, added in a tree."""
    b = Builder()
    x = b.op("Exp", "x0")
    level = [b.op("Mul", x, b.constant(np.float32(i + 1)))
             for i in range(nodes // 2)]
    while len(level) > 1:
        level = [b.op("Add", *level[i:i + 2]) if i + 1 < len(level)
                 else level[i] for i in range(0, len(level), 2)]
    b.write(file, level[0])


def outputs(nodes: int, file: Path) -> None:
    """Results of the model that are all functions of one value."""
    b = Builder()
    x = b.op("Exp", "x0")
    b.write(file, *[b.op("Mul", x, b.constant(np.float32(i + 1)))
                    for i in range(nodes)])


def many_inputs(nodes: int, file: Path) -> None:
    """A sum of inputs."""
    b = Builder(inputs=nodes)
    b.write(file, b.op("Sum", *b.inputs))


def concat(nodes: int, file: Path) -> None:
    """Operators of one value, concatenated."""
    b = Builder()
    b.write(file, b.op("Concat", *[b.elementwise("x0") for _ in range(nodes)],
                       axis=0))


def giant(nodes: int, file: Path) -> None:
    """A chain whose every other operator reads one value."""
    b = Builder()
    y = shared = b.op("Exp", "x0")
    for _ in range(nodes // 2):
        y = b.op(b.random.choice(("Add", "Mul", "Sub", "Max")),
                 b.elementwise(y), shared)
    b.write(file, y)


def diamonds(nodes: int, file: Path) -> None:
    """Two operators of a value and their sum, repeated."""
    b = Builder()
    x = "x0"
    for _ in range(nodes // 3):
        x = b.op("Add", b.elementwise(x), b.elementwise(x))
    b.write(file, x)


def nested(nodes: int, file: Path) -> None:
    """Values of the first half are read in reverse order in the second."""
    b = Builder()
    x, down = "x0", []
    for _ in range(nodes // 3):
        x = b.elementwise(x)
        down.append(x)
    for skipped in reversed(down):
        x = b.op("Add", b.elementwise(x), skipped)
    b.write(file, x)


def reductions(nodes: int, file: Path) -> None:
    """Rows minus their maximum, repeated."""
    b = Builder()
    x = "x0"
    for _ in range(nodes // 3):
        most = b.op("ReduceMax", x, b.constant(np.array([1])))
        x = b.elementwise(b.op("Sub", x, most))
    b.write(file, x)


def alternating(nodes: int, file: Path) -> None:
    """Kernels of different kinds, alternating."""
    b = Builder()
    x = "x0"
    for i in range(nodes // 8):
        x = b.op("Softmax", b.elementwise(x), axis=1)
        x = b.op("Transpose", b.elementwise(x), perm=[1, 0])
        x = b.op("CumSum", b.elementwise(x), b.constant(np.array(0)))
        x = b.op("Reshape", b.elementwise(x),
                 b.constant(np.array(SHAPE)))
    b.write(file, x)


def movement(nodes: int, file: Path) -> None:
    """Transposes and views, one after another."""
    b = Builder()
    x = "x0"
    for _ in range(nodes // 4):
        x = b.op("Transpose", x, perm=[1, 0])
        x = b.op("Reshape", x, b.constant(np.array([4, 6, 16])))
        x = b.op("Transpose", x, perm=[2, 0, 1])
        x = b.op("Reshape", x, b.constant(np.array(SHAPE)))
    b.write(file, x)


def slices(nodes: int, file: Path) -> None:
    """Pieces of one value, added."""
    b = Builder()
    x, total = b.op("Transpose", b.op("Exp", "x0"), perm=[1, 0]), None
    for i in range(nodes // 2):
        start = b.constant(np.array([i % 20, i // 20 % 12]))
        end = b.constant(np.array([i % 20 + 2, i // 20 % 12 + 4]))
        piece = b.op("Slice", x, start, end)
        total = b.op("Sub", total, piece) if total else piece
    b.write(file, total)


def products(nodes: int, file: Path) -> None:
    """Products by one matrix, each followed by a relu."""
    b = Builder()
    matrix = b.constant(np.eye(SHAPE[1], dtype=np.float32))
    x = "x0"
    for _ in range(nodes // 2):
        x = b.op("Relu", b.op("MatMul", x, matrix))
    b.write(file, x)


def branches(nodes: int, file: Path) -> None:
    """Pairs of independent products, repeated."""
    b = Builder()
    matrix = b.constant(np.eye(SHAPE[1], dtype=np.float32))
    x = "x0"
    for _ in range(nodes // 5):
        left, right = (b.op("Relu", b.op("MatMul", x, matrix))
                       for _ in range(2))
        x = b.op("Sub", b.op("Neg", left), right)
    b.write(file, x)


KINDS = {kind.__name__: kind for kind in
         (chain, repeated, fan_out, outputs, many_inputs, concat, giant,
          diamonds, nested, reductions, alternating, movement, slices,
          products, branches)}

if __name__ == "__main__":
    KINDS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))
