"""Random valid ONNX graphs, and what they compute on random inputs.

A graph grows node by node: an operator of the table below is drawn, with
attributes and operands that fit from the values that there are, and evaluated at
once by onnx's reference. What would make the comparison of two right answers
fail is not kept: values that are not finite or are large, operands near a pole,
and operators with jumps on operands that were rounded before.
"""
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 21
LARGEST = 1e3       # of a value
MOST_ELEMENTS = 4096
F32, I64, I32, BOOL = map(np.dtype, ("float32", "int64", "int32", "bool"))


@dataclass
class Value:
    name: str
    array: np.ndarray
    exact: bool  # nothing was rounded on the way to it

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim


@dataclass
class Graph:
    rng: np.random.Generator
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def integer(self, low: int, high: int) -> int:
        """low <= result < high"""
        return int(self.rng.integers(low, high))

    def draw(self, shape, dtype=F32) -> np.ndarray:
        """Floats are eighths, so that sums of a few of them are exact."""
        if dtype == BOOL:
            return self.rng.random(shape) < 0.5
        low, high = (-16, 17) if dtype == F32 else (-9, 10)
        whole = self.rng.integers(low, high, shape)
        return np.asarray(whole / 8 if dtype == F32 else whole, dtype)

    def shape(self, rank: int) -> list[int]:
        sizes = [1, 2, 3, 4, 5, 7, 8, 16, 17]
        while True:
            shape = [int(self.rng.choice(sizes)) for _ in range(rank)]
            if np.prod(shape) <= MOST_ELEMENTS // 4:
                return shape

    def given(self, array: np.ndarray) -> Value:
        """An input, or a weight."""
        array = np.asarray(array)
        weight = bool(self.inputs) and self.chance(0.4)
        where = self.weights if weight else self.inputs
        value = Value(f"{'wx'[not weight]}{len(where)}", array, True)
        where[value.name] = array
        self.values.append(value)
        return value

    def pick(self, dtype=F32, fits=lambda v: True, make=None) -> Value | None:
        """A value of the graph that fits, or a new input from `make()`."""
        found = [v for v in self.values if v.array.dtype == dtype and fits(v)]
        if found and not (make and self.chance(0.15)):
            # Later ones are drawn more often, so that graphs grow deep.
            at = int(len(found) * self.rng.random() ** 0.5)
            return found[at]
        return self.given(make()) if make else None

    def tensor(self, dtype=F32, least=0, most=4, exact=False) -> Value:
        return self.pick(
            dtype,
            lambda v: least <= v.rank <= most and (v.exact or not exact),
            lambda: self.draw(self.shape(self.integer(least, most + 1)), dtype))

    def add(self, op: str, operands: list[Value], rounds=True, outputs=1,
            **attributes) -> bool:
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(op, [v.name for v in operands], names,
                                name=f"n{len(self.nodes)}", **attributes)
        single = helper.make_graph(
            [node], "one", [helper.make_tensor_value_info(
                v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), None)
                for v in {v.name: v for v in operands}.values()],
            [helper.make_empty_tensor_value_info(name) for name in names])
        model = helper.make_model(
            single, opset_imports=[helper.make_opsetid("", OPSET)])
        with np.errstate(all="ignore"):
            try:
                results = ReferenceEvaluator(model).run(
                    None, {v.name: v.array for v in operands})
            except (TypeError, ValueError, RuntimeError):
                return False  # it does not take every scalar and type
        results = [np.asarray(r) for r in results]
        for r in results:
            if r.size == 0 or r.size > MOST_ELEMENTS or r.ndim > 6:
                return False
            if r.dtype.kind in "fiu" and not np.all(
                    np.abs(r.astype(np.float64)) <= LARGEST):
                return False
        self.nodes.append(node)
        exact = not rounds and all(v.exact for v in operands)
        self.values += [Value(n, r, exact) for n, r in zip(names, results)]
        return True

    def constant(self, values) -> Value:
        """An operand that importing has to know: axes, shapes."""
        array = np.asarray(values, np.int64)
        value = Value(f"c{len(self.weights)}", array, True)
        self.weights[value.name] = array
        return value

    def model(self) -> onnx.ModelProto:
        """Every value that no node reads is an output."""
        read = {name for node in self.nodes for name in node.input}
        made = [v for v in self.values if v.name.startswith("v")]
        info = [(v, helper.make_tensor_value_info(
            v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), v.shape))
            for v in made if v.name not in read]
        graph = helper.make_graph(
            self.nodes, "fuzz",
            [helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in self.inputs.items()],
            [i for _, i in info],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        model = helper.make_model(
            graph, ir_version=10,
            opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(model)
        return model

    def outputs(self) -> dict[str, np.ndarray]:
        read = {name for node in self.nodes for name in node.input}
        return {v.name: v.array for v in self.values
                if v.name.startswith("v") and v.name not in read}


def generate(seed: int, size: int) -> Graph:
    """A graph of about `size` nodes."""
    from operators import OPERATORS
    graph = Graph(np.random.default_rng(seed))
    for _ in range(20 * size):
        if len(graph.nodes) >= size:
            break
        OPERATORS[graph.integer(0, len(OPERATORS))](graph)
    return graph
