"""Gathering, scattering and the like."""
import numpy as np

from graphs import F32, I32, I64, Graph

from .table import operator


def index_type(g: Graph):
    return g.one_of(I64, I64, I32)


@operator(weight=3)
def gather(g: Graph):
    x = g.any_tensor(1)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    at = g.rng.integers(-size, size, g.shape(g.integer(0, 3)))
    return g.add("Gather", [x, g.given(at.astype(index_type(g)))], False,
                 axis=axis - x.rank if g.chance(0.3) else axis)


@operator()
def gather_elements(g: Graph):
    x = g.any_tensor(1)
    axis = g.integer(0, x.rank)
    at = g.rng.integers(-x.shape[axis], x.shape[axis], x.shape)
    return g.add("GatherElements", [x, g.given(at.astype(index_type(g)))],
                 False, axis=axis)


@operator()
def gather_nd(g: Graph):
    x = g.any_tensor(1)
    batch = g.one_of(0, 0, 1) if x.rank > 1 else 0
    depth = g.integer(1, x.rank - batch + 1)
    count = g.integer(1, 5)
    at = np.stack([g.rng.integers(-s, s, (*x.shape[:batch], count))
                   for s in x.shape[batch:batch + depth]], -1)
    return g.add("GatherND", [x, g.given(at.astype(I64))], False,
                 batch_dims=batch)


@operator("ScatterElements", weight=2)
def scatter_elements(g: Graph, op):
    x = g.tensor(g.one_of(F32, F32, I64), least=1)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = g.integer(1, size + 1)
    how = g.one_of("none", "none", "add", "mul", "max", "min")
    if how == "none":  # no place twice: which update stays is not said
        order = g.rng.permuted(np.broadcast_to(
            np.arange(size), np.moveaxis(x.array, axis, -1).shape), axis=-1)
        at = np.moveaxis(order[..., :shape[axis]], -1, axis)
    else:
        at = g.rng.integers(-size, size, shape)
    updates = g.given(g.draw(shape, x.dtype))
    attributes = {} if how == "none" else dict(reduction=how)
    return g.add(op, [x, g.given(at.astype(index_type(g))), updates],
                 how in ("add", "mul"), axis=axis, **attributes)


@operator(weight=2)
def scatter_nd(g: Graph):
    x = g.tensor(g.one_of(F32, F32, I64), least=1)
    depth = g.integer(1, x.rank + 1)
    how = g.one_of("none", "none", "add", "mul", "max", "min")
    places = int(np.prod(x.shape[:depth]))
    count = min(g.integer(1, 5), places)
    at = g.rng.permutation(places)[:count] if how == "none" \
        else g.rng.integers(0, places, count)
    at = np.stack(np.unravel_index(at, x.shape[:depth]), -1).astype(I64)
    updates = g.given(g.draw([count, *x.shape[depth:]], x.dtype))
    attributes = {} if how == "none" else dict(reduction=how)
    return g.add("ScatterND", [x, g.given(at), updates],
                 how in ("add", "mul"), **attributes)


@operator()
def tensor_scatter(g: Graph):
    b, t, d = g.integer(1, 4), g.integer(2, 6), g.integer(1, 4)
    shape = [b, g.integer(1, 3), t, d]
    step = g.integer(1, t)
    past = g.given(g.draw(shape))
    update = g.given(g.draw([*shape[:2], step, d]))
    mode = g.one_of("linear", "circular")
    most = t - step + 1 if mode == "linear" else t
    at = g.given(g.rng.integers(0, most, [b]).astype(I64))
    operands = [past, update, at] if g.chance(0.8) else [past, update]
    return g.add("TensorScatter", operands, False, axis=-2, mode=mode)


@operator()
def one_hot(g: Graph):
    depth = g.integer(2, 7)
    at = g.given(g.rng.integers(-depth, depth,
                                g.shape(g.integer(0, 3))).astype(I64))
    values = g.given(g.draw([2]))
    return g.add("OneHot", [at, g.constant(depth), values], False,
                 axis=g.integer(-1, at.rank + 1))


@operator()
def compress(g: Graph):
    """The condition must be constant."""
    x = g.any_tensor(1)
    attributes = {}
    size = x.array.size
    if g.chance(0.7):
        attributes["axis"] = g.integer(0, x.rank)
        size = x.shape[attributes["axis"]]
    keep = g.rng.random(g.integer(1, size + 1)) < 0.6
    if not keep.any():
        return False
    return g.add("Compress", [x, g.constant(keep, np.bool_)], False,
                 **attributes)


@operator()
def array_features(g: Graph):
    x = g.tensor(least=1)
    at = g.given(g.rng.integers(0, x.shape[-1],
                                [1, g.integer(1, 5)]).astype(I64))
    return g.add("ArrayFeatureExtractor", [x, at], False, domain="ai.onnx.ml")
