"""Softmax, normalisation and losses."""
import numpy as np

from graphs import F32, F64, I32, I64, Graph

from .table import operator


@operator("Softmax", "LogSoftmax", weight=2)
def softmax(g: Graph, op):
    x = g.tensor(g.one_of(F32, F32, F32, F64), least=1)
    if np.any(abs(x.array) > 30):
        return False
    return g.add(op, [x], axis=g.integer(-x.rank, x.rank))


def varies(x, axes):
    """Returns whether the variance is large enough not to amplify rounding errors."""
    return np.all(np.var(x.array, axis=tuple(axes)) >= 0.05)


@operator(weight=3)
def layer_norm(g: Graph):
    x = g.tensor(least=1)
    axis = g.integer(0, x.rank)
    if not varies(x, range(axis, x.rank)):
        return False
    operands = [x, g.given(g.draw(x.shape[axis:]))]
    if g.chance(0.6):
        operands.append(g.given(g.draw(x.shape[axis:])))
    return g.add("LayerNormalization", operands,
                 axis=axis - x.rank if g.chance(0.5) else axis,
                 epsilon=g.one_of(1e-5, 1e-3))


@operator(weight=2)
def rms_norm(g: Graph):
    x = g.tensor(least=1)
    axis = g.integer(0, x.rank)
    return g.add("RMSNormalization", [x, g.given(g.draw(x.shape[axis:]))],
                 axis=axis - x.rank if g.chance(0.5) else axis)


@operator(weight=2)
def batch_norm(g: Graph):
    x = g.tensor(least=2)
    c = x.shape[1]
    scale, bias, mean = (g.given(g.draw([c])) for _ in range(3))
    variance = g.given((np.abs(g.draw([c])) + 0.5).astype(F32))
    return g.add("BatchNormalization", [x, scale, bias, mean, variance],
                 epsilon=1e-3)


@operator()
def instance_norm(g: Graph):
    x = g.tensor(least=3)
    if not varies(x, range(2, x.rank)):
        return False
    c = x.shape[1]
    return g.add("InstanceNormalization",
                 [x, g.given(g.draw([c])), g.given(g.draw([c]))])


@operator()
def group_norm(g: Graph):
    x = g.tensor(least=3)
    n, c = x.shape[:2]
    groups = g.one_of(1, 2, c)
    if c % groups or np.any(
            np.var(x.array.reshape(n, groups, -1), axis=2) < 0.05):
        return False
    return g.add("GroupNormalization",
                 [x, g.given(g.draw([c])), g.given(g.draw([c]))],
                 num_groups=groups)


@operator()
def mean_variance(g: Graph):
    x = g.tensor(least=1)
    axes = sorted(g.rng.permutation(x.rank)[:g.integer(1, x.rank + 1)].tolist())
    if not varies(x, axes):
        return False
    return g.add("MeanVarianceNormalization", [x], axes=axes)


@operator()
def lp_norm(g: Graph):
    x = g.tensor(least=1)
    axis = g.integer(-x.rank, x.rank)
    if np.any(np.abs(x.array).sum(axis) < 0.2):
        return False
    return g.add("LpNormalization", [x], axis=axis, p=g.integer(1, 3))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g: Graph, op):
    x = g.tensor(least=2)
    c = x.shape[1]
    if np.any(abs(x.array) > 30):
        return False
    labels = g.rng.integers(0, c, (x.shape[0], *x.shape[2:]))
    operands = [x, g.given(labels.astype(g.one_of(I64, I32)))]
    if g.chance(0.5):
        operands.append(g.given((np.abs(g.draw([c])) + 0.5).astype(F32)))
    attributes = dict(reduction=g.one_of("none", "sum", "mean"))
    if g.chance(0.3) and np.any(labels != 0):
        attributes["ignore_index"] = 0
    return g.add(op, operands, outputs=1, **attributes)
