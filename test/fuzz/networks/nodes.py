"""Nodes of a network, and blocks that take any shape."""
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from draws import Draws

ODD = (1, 3, 5, 7, 9, 17, 33, 50, 100, 129)
EVEN = (8, 16, 24, 32, 40, 64, 72, 96, 128, 136, 192, 256)
# Limits per value and per contraction, multiplied with the batch's scale.
MOST_ELEMENTS = 1 << 16
MOST_PRODUCTS = 1 << 24


@dataclass
class Value:
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@dataclass
class Builder(Draws):
    """A network that is being made."""

    scale: int = 1  # of the batch
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    config: dict = field(default_factory=dict)
    output: Value | None = None
    target: str = ""
    blocks: list[str] = field(default_factory=list)  # what it is made of

    def holds(self, elements: int) -> bool:
        return elements <= MOST_ELEMENTS * self.scale

    def computes(self, products: int) -> bool:
        return products <= MOST_PRODUCTS * self.scale

    def width(self, most=256) -> int:
        sizes = EVEN if self.chance(0.7) else ODD
        return self.one_of(*[s for s in sizes if s <= most])

    def add(self, op: str, operands, shape, **attributes) -> Value:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            op, [getattr(v, "name", v) for v in operands], [name],
            name=f"n{len(self.nodes)}_{op}", **attributes))
        value = Value(name, tuple(int(s) for s in shape))
        self.values.append(value)
        return value

    def weight(self, shape, scale=None, center=0.0) -> Value:
        """A weight; by default scaled for a product of all but the first
        dimension."""
        shape = tuple(shape)
        if scale is None:
            scale = np.prod(shape[1:]) ** -0.5
        array = (center + scale * self.rng.standard_normal(shape))
        name = f"w{len(self.weights)}"
        self.weights[name] = array.astype(np.float32)
        return Value(name, shape)

    def constant(self, array) -> str:
        """A constant that does not train: no initializer."""
        name = f"c{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            "Constant", [], [name], value=numpy_helper.from_array(
                np.asarray(array))))
        return name

    def given(self, array) -> Value:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.asarray(array)
        return Value(name, self.inputs[name].shape)

    def same(self, op: str, *operands, **attributes) -> Value:
        return self.add(op, operands, operands[0].shape, **attributes)

    def reshape(self, x: Value, shape) -> Value:
        return self.add("Reshape", [x, self.constant(np.array(shape))], shape)

    def transpose(self, x: Value, perm) -> Value:
        return self.add("Transpose", [x], [x.shape[p] for p in perm], perm=perm)

    def draw(self, shape) -> np.ndarray:
        return self.rng.standard_normal(shape).astype(np.float32)

    def activation(self, x: Value) -> Value:
        kind = self.one_of("Relu", "Gelu", "Gelu", "silu", "Tanh", "Sigmoid",
                           "LeakyRelu", "Softplus", "Elu", "HardSwish", "Mish",
                           "erf", "PRelu", "Clip")
        self.blocks.append(kind)
        if kind == "silu":
            return self.same("Mul", x, self.same("Sigmoid", x))
        if kind == "Gelu":
            return self.same("Gelu", x, approximate=self.one_of("none", "tanh"))
        if kind == "PRelu":
            image = len(x.shape) > 3
            slopes = [x.shape[1], 1, 1] if image else [x.shape[-1]]
            return self.same(kind, x, self.weight(slopes, 0.1, 0.25))
        if kind == "Clip":
            return self.same(kind, x, *(self.constant(np.float32(bound))
                                        for bound in (-1, 1)))
        if kind == "erf":  # as exporters write GELU
            e = self.same("Erf", self.same(
                "Div", x, self.constant(np.float32(2 ** 0.5))))
            half = self.same("Mul", x, self.constant(np.float32(0.5)))
            return self.same("Mul", half, self.same(
                "Add", e, self.constant(np.float32(1))))
        return self.same(kind, x)

    def drop(self, x: Value) -> Value:
        self.blocks.append("dropout")
        self.config.setdefault("dropout", []).append(
            {"after": [x.name], "rate": self.one_of(0.1, 0.5)})
        return x

    def scale_channels(self, x: Value, axis: int) -> Value:
        """Multiplies by a trained layer scale."""
        shape = [1] * len(x.shape)
        shape[axis] = x.shape[axis]
        if axis == len(x.shape) - 1:
            shape = shape[axis:]
        return self.same("Mul", x, self.weight(shape, 0.2, 1.0))
