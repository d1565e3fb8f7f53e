"""Chains along rows: values by row, by channel and by position around
reductions, which become kernels of rows."""
import numpy as np

from graphs import F32, I32, I64, U8, Graph

from .table import operator


def sizes(g: Graph):
    """Sizes that vectors divide and others, so that rows may have channels of
    whole vectors."""
    while True:
        shape = [g.one_of(1, 1, 2, 3, 4, 6, 8, 12, 16, 38, 40)
                 for _ in range(g.integer(2, 5))]
        if 8 <= np.prod(shape) <= 2048:
            return shape


def part_of(g: Graph, shape):
    """A shape that broadcasts to `shape`."""
    kept = [g.chance(0.5) for _ in shape]
    part = [n if keep else 1 for n, keep in zip(shape, kept)]
    return part[g.integer(0, len(part)):] if g.chance(0.2) else part


def combine(g: Graph, x):
    """An operation of `x` with a value of a part of its shape."""
    part = part_of(g, x.shape)
    kind = g.integer(0, 6)
    if kind == 0:  # by position
        last = g.integer(0, x.rank)
        count = [x.shape[last] if d == last else 1 for d in range(x.rank)]
        place = g.given(np.arange(x.shape[last]).reshape(count).astype(I64))
        limit = g.given(np.asarray(g.integer(0, x.shape[last] + 1), I64))
        if not g.add("Less", [place, limit], False):
            return None
        return g.add("Where", [g.values[-1], x, g.constant(-2, F32)], False)
    if kind == 1:  # from a table
        table = g.given(g.draw([9]))
        at = g.given(g.rng.integers(0, 9, part).astype(I64))
        if not g.add("Gather", [table, at], False):
            return None
        return g.add(g.one_of("Add", "Mul"), [x, g.values[-1]])
    if kind == 2:  # from integers
        y = g.given(g.draw(part, g.one_of(I32, U8)))
        if not g.add("Cast", [y], False, to=1):
            return None
        return g.add("Sub", [x, g.values[-1]])
    y = g.given(g.draw(part))
    return g.add(g.one_of("Add", "Sub", "Mul", "Max"), [x, y])


def reduction(g: Graph, x):
    """Reduces the last dimensions, a middle one, or all."""
    first = g.integer(0, x.rank)
    axes = list(range(first, x.rank)) if g.chance(0.7) else [first]
    kind = g.one_of("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum",
                    "ReduceL2", "ArgMax", "Softmax", "LogSoftmax",
                    "DynamicQuantizeLinear")
    if kind == "DynamicQuantizeLinear":
        # Its integers may differ by one, so none reads them or compares them.
        return g.add(kind, [x], False, 3) if x.exact else None
    if kind == "ArgMax":
        return x.exact and g.add(kind, [x], False, axis=first)
    if kind.endswith("Softmax"):
        return g.add(kind, [x], axis=first)
    return g.add(kind, [x, g.constant(axes)], keepdims=1)


@operator(weight=3)
def rows(g: Graph):
    x = g.given(g.draw(sizes(g), g.one_of(F32, F32, F32, I32, U8)), False)
    if x.dtype != F32:
        if g.chance(0.5):
            y = g.given(g.draw(part_of(g, x.shape), x.dtype))
            if not g.add("Add", [x, y], False):
                return False
        if not g.add("Cast", [g.values[-1] if g.values[-1].shape == x.shape
                              else x], False, to=1):
            return False
        x = g.values[-1]
    shape = x.shape
    for _ in range(g.integer(1, 4)):
        for _ in range(g.integer(0, 3)):
            if combine(g, x) and g.values[-1].shape == shape:
                x = g.values[-1]
        if not reduction(g, x):
            continue
        y = g.values[-1]
        if y.dtype == F32 and y.rank == x.rank:
            if g.add(g.one_of("Sub", "Mul", "Add", "Max"), [x, y]):
                x = g.values[-1]
    return True
