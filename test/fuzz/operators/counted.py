"""Operators with data-dependent sizes. Their readers must be proved to read only
valid entries, so only nodes for which that works read them."""
import numpy as np
from onnx import TensorProto, helper

from graphs import BOOL, F32, F64, I32, I64, Graph

from .control import info, name
from .table import operator


def finish(g: Graph, before: int, axis: int) -> bool:
    """Reads the counted values of the nodes from `before` on, sometimes, and
    keeps others from doing so. They are counted along `axis`."""
    names = {name for node in g.nodes[before:] for name in node.output}
    value = next(v for v in g.values if v.name == g.nodes[before].output[0])
    for _ in range(g.integer(0, 3)):
        known = len(g.nodes)
        how = g.integer(0, 6)
        rank = value.rank
        if how == 0 and rank > 1:
            perm = [int(i) for i in g.rng.permutation(rank)]
            added = g.add("Transpose", [value], False, perm=perm)
            axis = perm.index(axis) if added else axis
        elif how == 1:
            added = g.add("Cast", [value], False, to=int(g.one_of(1, 7, 11)))
        elif how == 2:
            added = g.add("Unsqueeze", [value, g.constant([rank])], False)
        elif how == 3 and value.dtype != BOOL:
            added = g.add("Add", [value, value], value.dtype in (F32, F64))
        elif how == 4 and rank > 1:
            other = (axis + 1) % rank
            added = g.add("Slice", [value, g.constant([0]), g.constant([1]),
                                    g.constant([other])], False)
        elif how == 5 and rank > 1 and value.dtype in (F32, I64):
            other = (axis + 1) % rank
            added = g.add("ReduceMax", [value, g.constant([other])], False)
        else:
            continue
        if added:
            names.add(g.nodes[known].output[0])
            value = g.values[-1]
    g.seal(names)
    return True


@operator(weight=2)
def non_zero(g: Graph):
    x = g.any_tensor(1, exact=True)
    before = len(g.nodes)
    if x.array.size < 2 or not g.add("NonZero", [x], False):
        return False
    return finish(g, before, 1)


@operator(weight=2)
def compress(g: Graph):
    x = g.any_tensor(1)
    axis, size, attributes = 0, x.array.size, {}
    if g.chance(0.7):
        axis = attributes["axis"] = g.integer(0, x.rank)
        size = x.shape[axis]
    keep = g.rng.random(g.integer(1, size + 1)) < 0.6
    before = len(g.nodes)
    if keep.size < 2 or not g.add("Compress", [x, g.given(keep, False)], False,
                                  **attributes):
        return False
    return finish(g, before, axis)


@operator()
def unique(g: Graph):
    x = g.tensor(g.one_of(F32, I64), 1, 3, exact=True)
    attributes, axis = dict(sorted=g.integer(0, 2)), 0
    keys = 1
    if g.chance(0.5):
        axis = g.integer(0, x.rank)
        attributes = dict(axis=axis, sorted=1)
        keys = x.array.size // max(x.shape[axis], 1)
    before = len(g.nodes)
    if x.array.size // keys < 2 or keys > 64 or x.array.size > 300 or not g.add(
            "Unique", [x], False, g.integer(1, 5), **attributes):
        return False
    return finish(g, before, axis)


@operator()
def top_k(g: Graph):
    x = g.tensor(g.one_of(F32, I64), 1, exact=True)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    before = len(g.nodes)
    k = g.given(np.array([g.integer(1, size + 1)], I64), False)
    if size < 2 or not g.add("TopK", [x, k], False, 2, axis=axis,
                             largest=g.integer(0, 2)):
        return False
    return finish(g, before, axis)


@operator()
def non_max_suppression(g: Graph):
    n, boxes, classes = g.integer(1, 3), g.integer(2, 8), g.integer(1, 3)
    corner = g.rng.integers(0, 8, (n, boxes, 2))
    size = g.rng.integers(1, 8, (n, boxes, 2))
    x = np.concatenate([corner, corner + size], -1) / 8
    # Distinct scores, because the order of equal ones is unspecified.
    scores = g.rng.permutation(n * classes * boxes).reshape(n, classes, boxes)
    most = np.array([g.integer(2, boxes + 2)])
    operands = [g.given(x.astype(F32), False),
                g.given((scores / 64).astype(F32), False),
                g.constant(most) if g.chance(0.5) else g.given(most, False),
                # Between quotients of small numbers.
                g.constant([g.one_of(0.213, 0.487, 0.731)], F32)]
    if g.chance(0.5):
        operands.append(g.given(np.array([0.1], F32), False))
    before = len(g.nodes)
    if not g.add("NonMaxSuppression", operands, False):
        return False
    return finish(g, before, 0)


@operator()
def gather_places(g: Graph):
    """Selects the rows of a table by a mask, as detectors do."""
    rows = g.integer(2, 9)
    table = g.given(g.draw([rows, g.integer(1, 5)], g.one_of(F32, I32, I64)))
    mask = g.given(g.draw([rows], BOOL), False)
    before = len(g.nodes)
    if not g.add("NonZero", [mask], False):
        return False
    names = {g.nodes[before].output[0]}
    if g.add("Transpose", [g.values[-1]], False):
        names.add(g.nodes[-1].output[0])
        if g.add("GatherND", [table, g.values[-1]], False):
            g.seal(names)
            return finish(g, len(g.nodes) - 1, 0)
    g.seal(names)
    return True


@operator()
def loop(g: Graph):
    """Loop with a data-dependent condition and a limit; collects values."""
    shape = g.shape(g.integer(1, 3))
    most = g.integer(2, 9)
    x, step = g.given(g.draw(shape, I64), False), g.draw(shape, I64)
    more = g.given(g.draw([most], BOOL) | g.draw([most], BOOL), False)
    step = g.given(step)
    n = {w: name(g, w) for w in ("i", "c", "x", "go", "y", "z")}
    nodes = [helper.make_node("Gather", [more.name, n["i"]], [n["go"]]),
             helper.make_node("Sub", [n["x"], step.name], [n["y"]]),
             helper.make_node("Neg", [n["x"]], [n["z"]])]
    body = helper.make_graph(
        nodes, "body", [info(n["i"], TensorProto.INT64, []),
                        info(n["c"], TensorProto.BOOL, []),
                        info(n["x"], TensorProto.INT64, shape)],
        [info(n["go"], TensorProto.BOOL, []),
         info(n["y"], TensorProto.INT64, shape),
         info(n["z"], TensorProto.INT64, shape)])
    start = g.constant(True, BOOL) if g.chance(0.5) else \
        g.given(np.asarray(True), False)
    before = len(g.nodes)
    if not g.add("Loop", [g.constant(most), start, x], False, 2,
                 captured=[step, more], body=body):
        return False
    g.seal({g.nodes[before].output[1]})
    return True
