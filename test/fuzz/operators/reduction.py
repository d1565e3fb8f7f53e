"""Reductions, cumulative sums, and selections."""
import numpy as np

from graphs import BOOL, F32, F64, I32, I64, Graph

from .table import operator


def axes_of(g: Graph, x):
    count = g.integer(1, x.rank + 1)
    axes = sorted(g.rng.permutation(x.rank)[:count].tolist())
    return [a - x.rank for a in axes] if g.chance(0.3) else axes


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
          "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum",
          "ReduceProd", weight=2)
def reduce_(g: Graph, op):
    x = g.tensor(g.one_of(F32, F32, F32, F64), least=1)
    if op == "ReduceLogSum" and np.any(x.array < 0.1):
        return False
    keeps = g.integer(0, 2)
    operands = [x, g.constant(axes_of(g, x))]
    if g.chance(0.15):
        return g.add(op, [x], op not in ("ReduceMax", "ReduceMin"),
                     keepdims=keeps)
    return g.add(op, operands, op not in ("ReduceMax", "ReduceMin"),
                 keepdims=keeps)


@operator("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd",
          "ReduceSumSquare", "ReduceL1")
def reduce_integers(g: Graph, op):
    x = g.tensor(g.one_of(I32, I64), least=1)
    return g.add(op, [x, g.constant(axes_of(g, x))], False,
                 keepdims=g.integer(0, 2))


@operator("ReduceMax", "ReduceMin")
def reduce_bool(g: Graph, op):
    x = g.tensor(BOOL, least=1)
    return g.add(op, [x, g.constant(axes_of(g, x))], False,
                 keepdims=g.integer(0, 2))


@operator("ArgMax", "ArgMin")
def select(g: Graph, op):
    x = g.tensor(g.one_of(F32, F32, I32), least=1, exact=True)
    return g.add(op, [x], False, axis=g.integer(-x.rank, x.rank),
                 keepdims=g.integer(0, 2), select_last_index=g.integer(0, 2))


@operator("CumSum", "CumProd")
def cumulative(g: Graph, op):
    dtype = g.one_of(F32, F32, I32, I64)
    x = g.tensor(dtype, least=1)
    return g.add(op, [x, g.constant(g.integer(-x.rank, x.rank))], dtype == F32,
                 exclusive=g.integer(0, 2), reverse=g.integer(0, 2))


@operator(weight=2)
def top_k(g: Graph):
    """TopK of distinct values, because the order of equal ones is unspecified."""
    shape = g.shape(g.integer(1, 4))
    order = g.rng.permutation(int(np.prod(shape))).reshape(shape)
    x = g.given(((order - order.size // 2) / 8).astype(F32)
                if g.chance(0.7) else order.astype(I64))
    if not np.all(np.abs(x.array) < 1000):
        return False
    axis = g.integer(-x.rank, x.rank)
    k = g.integer(1, x.shape[axis] + 1)
    return g.add("TopK", [x, g.constant([k])], False, 2, axis=axis,
                 largest=g.integer(0, 2))


@operator()
def hardmax(g: Graph):
    x = g.tensor(least=1, exact=True)
    return g.add("Hardmax", [x], False, axis=g.integer(-x.rank, x.rank))
