"""Random valid ONNX graphs and their results on random inputs.

A graph grows node by node: an operator is drawn from the table, with attributes
and operands among the existing values, and evaluated at once by
ONNX Runtime, or by onnx's reference if that lacks it. A node is dropped if
two correct answers might differ: values that are not finite or large,
discontinuous operators on rounded operands, and nodes that amplify noise
(every value is also computed with an error that rounding could have
caused).
"""
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from draws import Draws

onnxruntime.set_default_logger_severity(4)

OPSET = 26          # the newest that ONNX Runtime knows
IR_VERSION = 13
LARGEST = 1e3       # of a value
MOST_ELEMENTS = 4096
F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BOOL = map(
    np.dtype, ("float16", "float32", "float64", "int8", "int16", "int32",
               "int64", "uint8", "uint16", "uint32", "uint64", "bool"))
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (F16, F32, F64)
INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)

# Relative error of a few roundings, and tolerance of a whole graph relative to 1 + |x|.
NOISE = {F16: 1e-3, BF16: 8e-3, F32: 1e-6, F64: 1e-9}
TOLERANCE = {F16: 4e-2, BF16: 2e-1, F32: 1e-3, F64: 1e-3}


def is_float(dtype) -> bool:
    return dtype in NOISE


def type_of(dtype) -> int:
    return helper.np_dtype_to_tensor_dtype(dtype)


@dataclass
class Value:
    name: str
    array: np.ndarray
    exact: bool  # nothing was rounded on the way to it
    noisy: np.ndarray | None = None  # the value with noise, unless it is exact
    tolerance: float = TOLERANCE[F32]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def with_noise(self) -> np.ndarray:
        return self.array if self.noisy is None else self.noisy


def by_runtime(model: onnx.ModelProto):
    """Returns a function that runs the model by ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def by_reference(model: onnx.ModelProto):
    """The model's function by onnx's reference, in the types that inference
    says, which it does not always keep to."""
    evaluator = ReferenceEvaluator(model)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)

    def call(feeds):
        with np.errstate(all="ignore"):
            results = [np.asarray(r) for r in evaluator.run(None, feeds)]
        types = (o.type.tensor_type.elem_type for o in inferred.graph.output)
        return [r.astype(helper.tensor_dtype_to_np_dtype(t)) if t else r
                for r, t in zip(results, types)]
    return call


def evaluate(model, beyond, *feeds) -> list | None:
    """The model's results for each of `feeds`, or nothing: neither oracle takes
    every operator and type, and the reference, which is asked where `beyond` is
    set, fails in many ways."""
    for how in (by_runtime, by_reference) if beyond else (by_runtime,):
        try:
            function = how(model)
            return [function(f) for f in feeds]
        except Exception:
            continue
    return None


def is_tame(r: np.ndarray) -> bool:
    if r.size == 0 or r.size > MOST_ELEMENTS or r.ndim > 6 \
            or r.dtype.kind in "OUSc":
        return False
    return r.dtype == BOOL or bool(
        np.all(np.abs(r.astype(np.float64)) <= LARGEST))


@dataclass
class Graph(Draws):
    values: list[Value] = field(default_factory=list)
    sealed: list[Value] = field(default_factory=list)  # for no one to read
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    opset: int = OPSET
    domains: set[str] = field(default_factory=set)
    beyond: bool = False  # whether operators are taken that ONNX Runtime lacks

    def float_type(self) -> np.dtype:
        return self.one_of(*[F32] * 12, F64, F64, F16)

    def integer_type(self) -> np.dtype:
        return self.one_of(I64, I64, I64, I32, I32, *INTEGERS)

    def any_type(self) -> np.dtype:
        kind = self.integer(0, 10)
        return (self.float_type() if kind < 6 else
                self.integer_type() if kind < 9 else BOOL)

    def draw(self, shape, dtype=F32) -> np.ndarray:
        """Floats are eighths, so that sums of a few of them are exact."""
        if dtype == BOOL:
            return np.asarray(self.rng.random(shape) < 0.5)
        if is_float(dtype):
            return np.asarray(self.rng.integers(-16, 17, shape) / 8
                              ).astype(dtype)
        low = 0 if dtype.kind == "u" else -9
        return np.asarray(self.rng.integers(low, 10, shape)).astype(dtype)

    def shape(self, rank: int) -> list[int]:
        sizes = [1, 2, 3, 4, 5, 7, 8, 16, 17]
        while True:
            shape = [int(self.rng.choice(sizes)) for _ in range(rank)]
            if np.prod(shape) <= MOST_ELEMENTS // 4:
                return shape

    def given(self, array: np.ndarray, weight: bool | None = None) -> Value:
        """An input, or a weight."""
        array = np.array(array, order="C")
        if weight is None:
            weight = bool(self.inputs) and self.chance(0.4)
        where = self.weights if weight else self.inputs
        value = Value(f"{'wx'[not weight]}{len(where)}", array, True,
                      tolerance=TOLERANCE.get(array.dtype, TOLERANCE[F32]))
        where[value.name] = array
        self.values.append(value)
        return value

    def pick(self, dtype=F32, fits=lambda v: True, make=None) -> Value | None:
        """A value of the graph that fits, or a new input from `make()`."""
        found = [v for v in self.values if v.dtype == dtype and fits(v)]
        made = [v for v in found if v.name.startswith("v")]
        if made and self.chance(0.75):
            found = made
        if found and not (make and self.chance(0.15)):
            # Prefer later values, so that graphs grow deep.
            at = int(len(found) * self.rng.random() ** 0.5)
            return found[at]
        return self.given(make()) if make else None

    def tensor(self, dtype=F32, least=0, most=4, exact=False) -> Value:
        return self.pick(
            dtype,
            lambda v: least <= v.rank <= most and (v.exact or not exact),
            lambda: self.draw(self.shape(self.integer(least, most + 1)), dtype))

    def any_tensor(self, least=0, most=4, exact=False) -> Value:
        return self.tensor(self.any_type(), least, most, exact)

    def constant(self, values, dtype=I64) -> Value:
        """An operand that must be constant: axes, shapes."""
        value = Value(f"c{len(self.weights)}", np.asarray(values, dtype), True)
        self.weights[value.name] = value.array
        return value

    def add(self, op: str, operands: list[Value | str | None], rounds=True,
            outputs=1, captured=(), before=(), domain="", opset=OPSET,
            **attributes) -> bool:
        """Adds a node if its results can be compared. Operands may be left out,
        or be names that the nodes `before` it give to values other than tensors;
        `captured` are values that subgraphs or those nodes read; `rounds` says
        that results are not exact even if the operands are."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(
            op, [getattr(v, "name", v) or "" for v in operands], names,
            name=f"n{len(self.nodes)}", domain=domain, **attributes)
        read = {v.name: v for v in [*operands, *captured]
                if isinstance(v, Value)}
        model = helper.make_model(
            helper.make_graph(
                [*before, node], "one",
                [helper.make_tensor_value_info(n, type_of(v.dtype), None)
                 for n, v in read.items()],
                # Shape inference finds the types.
                [onnx.ValueInfoProto(name=n) for n in names]),
            ir_version=IR_VERSION,
            opset_imports=self.opset_imports(opset, {domain}))
        results = evaluate(model, self.beyond,
                           {n: v.array for n, v in read.items()},
                           {n: v.with_noise() for n, v in read.items()})
        if results is None or not all(map(is_tame, results[0])):
            return False
        exact = not rounds and all(v.exact for v in read.values())
        results, noisy = results
        noisy = [None if exact else self.with_noise(n, r, rounds)
                 for n, r in zip(noisy, results)]
        coarsest = max([v.tolerance for v in read.values()], default=0)
        values = [Value(n, r, exact, z, max(
            coarsest, TOLERANCE.get(r.dtype, TOLERANCE[F32])))
            for n, r, z in zip(names, results, noisy)]
        if any(not self.is_stable(v) for v in values):
            return False
        self.nodes += [*before, node]
        self.values += values
        self.opset = max(opset, self.opset)
        self.domains.add(domain)
        return True

    def unchecked(self, op: str, operands: list[Value], stand_in: np.ndarray,
                  **attributes) -> Value:
        """Adds a node whose results cannot be compared; only what reads the
        returned value can."""
        value = Value(f"v{len(self.nodes)}_0", stand_in, True)
        self.nodes.append(helper.make_node(
            op, [v.name for v in operands], [value.name],
            name=f"n{len(self.nodes)}", **attributes))
        return value

    def with_noise(self, noisy, result, rounds) -> np.ndarray:
        """Returns a result of noisy operands, rounded once more."""
        if not is_float(result.dtype) or not rounds \
                or noisy.shape != result.shape:
            return noisy
        error = self.rng.uniform(-1, 1, result.shape) * NOISE[result.dtype]
        wide = noisy.astype(np.float64)
        return (wide + error * (1 + np.abs(wide))).astype(result.dtype)

    @staticmethod
    def is_stable(v: Value) -> bool:
        if v.noisy is None:
            return True
        if v.noisy.shape != v.shape:
            return False
        x, y = v.array.astype(np.float64), v.noisy.astype(np.float64)
        with np.errstate(all="ignore"):
            return bool(np.all(np.abs(x - y) <=
                               v.tolerance / 8 * (1 + np.abs(x))))

    @staticmethod
    def opset_imports(opset: int, domains: set[str]):
        return [helper.make_opsetid(d, opset if d == "" else OTHERS[d])
                for d in sorted({"", *domains})]

    def seal(self, names) -> None:
        """Keeps values from being read by others."""
        self.sealed += [v for v in self.values if v.name in names]
        self.values = [v for v in self.values if v.name not in names]

    def results(self) -> list[Value]:
        """Every value that no node reads is an output."""
        read = {name for node in self.nodes for name in names_read(node)}
        return [v for v in [*self.values, *self.sealed]
                if v.name.startswith("v") and v.name not in read]

    def model(self) -> onnx.ModelProto:
        def info(name, array):
            return helper.make_tensor_value_info(name, type_of(array.dtype),
                                                 array.shape)
        graph = helper.make_graph(
            self.nodes, "fuzz", [info(*i) for i in self.inputs.items()],
            [info(v.name, v.array) for v in self.results()],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        model = helper.make_model(
            graph, ir_version=IR_VERSION,
            opset_imports=self.opset_imports(self.opset, self.domains))
        onnx.checker.check_model(model)
        return model


# Versions of operator sets beside ONNX's own.
OTHERS = {"ai.onnx.ml": 5, "ai.onnx.preview.training": 1, "ai.onnx.preview": 1}


def names_read(node: onnx.NodeProto):
    """By the node and by its subgraphs, whose own names are no others'."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from names_read(inner)


def generate(seed: int, most: int) -> Graph:
    """A graph of at most `most` nodes."""
    from operators import OPERATORS
    graph = Graph(np.random.default_rng(seed))
    graph.beyond = graph.chance(0.3)
    size = graph.integer(2, most + 1)
    for _ in range(20 * size):
        if len(graph.nodes) >= size:
            break
        OPERATORS[graph.integer(0, len(OPERATORS))](graph)
    return graph
