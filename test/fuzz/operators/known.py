"""Operators whose results' sizes depend on values, which are constant here
(operators/counted.py has others)."""
import numpy as np

from graphs import F32, I64, Graph

from .table import operator


@operator()
def non_zero(g: Graph):
    x = g.draw(g.shape(g.integer(1, 4)), g.any_type())
    if not np.any(x):
        return False
    return g.add("NonZero", [g.constant(x, x.dtype)], False)


@operator()
def unique(g: Graph):
    x = g.draw(g.shape(g.integer(1, 3)), g.one_of(F32, I64))
    attributes = dict(sorted=g.integer(0, 2))
    if g.chance(0.5):
        attributes["axis"] = g.integer(-x.ndim, x.ndim)
        attributes["sorted"] = 1
    return g.add("Unique", [g.constant(x, x.dtype)], False,
                 g.integer(1, 5), **attributes)


@operator()
def non_max_suppression(g: Graph):
    n, boxes, classes = g.integer(1, 3), g.integer(2, 8), g.integer(1, 3)
    corner = g.rng.integers(0, 8, (n, boxes, 2))
    size = g.rng.integers(1, 8, (n, boxes, 2))
    x = np.concatenate([corner, corner + size], -1) / 8
    # Distinct scores, because the order of equal ones is unspecified.
    scores = g.rng.permutation(n * classes * boxes).reshape(n, classes, boxes)
    operands = [g.constant(x, F32), g.constant(scores / 64, F32),
                g.constant([g.integer(1, boxes + 1)]),
                # Between quotients of small numbers.
                g.constant([g.one_of(0.213, 0.487, 0.731)], F32)]
    if g.chance(0.5):
        operands.append(g.constant([0.1], F32))
    return g.add("NonMaxSuppression", operands, False)


@operator()
def optional(g: Graph):
    x = g.tensor()
    if g.chance(0.5):
        return g.add("OptionalGetElement", [x], False)
    return g.add("OptionalHasElement", [x], False)
