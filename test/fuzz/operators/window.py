"""Pooling and other windows."""
import numpy as np

from graphs import F32, F64, Graph

from .contraction import image
from .table import operator


@operator("MaxPool", "AveragePool", "LpPool", weight=3)
def pool(g: Graph, op):
    rank = g.one_of(1, 2, 2, 3)
    x = image(g, rank)
    kernel = [g.integer(1, 4) for _ in range(rank)]
    attributes = dict(kernel_shape=kernel,
                      strides=[g.integer(1, 3) for _ in range(rank)],
                      pads=[g.integer(0, kernel[d % rank])
                            for d in range(2 * rank)])
    if g.chance(0.3):
        attributes["dilations"] = [g.integer(1, 3) for _ in range(rank)]
    spread = [(k - 1) * attributes.get("dilations", [1] * rank)[d] + 1
              for d, k in enumerate(kernel)]
    if any(x.shape[2 + d] < spread[d] for d in range(rank)):
        return False
    if op == "AveragePool":
        attributes["count_include_pad"] = g.integer(0, 2)
    if op == "LpPool":
        attributes["p"] = g.one_of(1, 2)
    return g.add(op, [x], op != "MaxPool", **attributes)


@operator()
def max_pool_places(g: Graph):
    x = g.pick(F32, lambda v: v.rank == 4 and v.exact,
               lambda: g.draw(g.shape(4)))
    # Distinct values, because the choice among equal ones is unspecified.
    order = g.rng.permutation(x.array.size).reshape(x.shape)
    x = g.given((order / 8).astype(F32))
    kernel = [g.integer(1, 4), g.integer(1, 4)]
    if x.shape[2] < kernel[0] or x.shape[3] < kernel[1]:
        return False
    return g.add("MaxPool", [x], False, 2, kernel_shape=kernel,
                 strides=[g.integer(1, 3) for _ in range(2)])


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(g: Graph, op):
    x = image(g, g.integer(1, 4))
    return g.add(op, [x], op != "GlobalMaxPool")


@operator()
def global_lp_pool(g: Graph):
    """Neither oracle supports it."""
    if not g.beyond:
        return False
    x = image(g, g.integer(1, 4))
    p, axes = g.integer(1, 3), tuple(range(2, x.rank))
    value = (np.abs(x.array) ** p).sum(axes, keepdims=True) ** (1 / p)
    if value.max() > 100:
        return False
    y = g.unchecked("GlobalLpPool", [x], value.astype(F32), p=p)
    y.exact, y.noisy = False, y.array
    g.values.append(y)
    return True


@operator()
def max_unpool(g: Graph):
    n, c, h, w = g.integer(1, 3), g.integer(1, 3), g.integer(1, 4), \
        g.integer(1, 4)
    x = g.given(g.draw([n, c, h, w]))
    # One element of every window, so that none occurs twice.
    rows = 2 * np.arange(h)[:, None] + g.rng.integers(0, 2, (n, c, h, w))
    columns = 2 * np.arange(w) + g.rng.integers(0, 2, (n, c, h, w))
    plane = 4 * h * w * np.arange(n * c).reshape(n, c, 1, 1)
    places = g.given((plane + rows * 2 * w + columns).astype(np.int64))
    return g.add("MaxUnpool", [x, places], False, kernel_shape=[2, 2],
                 strides=[2, 2])


@operator()
def local_response(g: Graph):
    x = image(g, 2)
    return g.add("LRN", [x], size=g.one_of(1, 3, 5), alpha=0.1, beta=0.75,
                 bias=g.one_of(1.0, 2.0))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(g: Graph, op):
    return g.add(op, [g.constant(g.integer(2, 20))],
                 periodic=g.integer(0, 2))


@operator()
def mel_weights(g: Graph):
    return g.add("MelWeightMatrix", [
        g.constant(g.integer(2, 6)), g.constant(16), g.constant(8192),
        g.constant(0.0, F32), g.constant(4096.0, F32)], False)


@operator()
def fourier(g: Graph):
    parts = g.integer(1, 3)
    n, frames = g.integer(1, 3), g.one_of(3, 4, 5, 8)
    x = g.given(g.draw([n, frames, g.one_of(2, 6), parts],
                       g.one_of(F32, F32, F64)))
    axis = g.integer(1, 3)
    attributes = {}
    if parts == 1 and g.chance(0.4):
        attributes["onesided"] = 1
    elif parts == 2 and g.chance(0.5):
        attributes["inverse"] = 1
    length = None
    if not attributes and g.chance(0.4):
        length = g.constant(x.shape[axis] + g.integer(-1, 3))
    return g.add("DFT", [x, length, g.constant(axis)], **attributes)


@operator()
def short_fourier(g: Graph):
    length = g.one_of(4, 5, 8)
    signal = g.given(g.draw([g.integer(1, 3), 20, 1]))
    window = g.given(g.draw([length])) if g.chance(0.5) else None
    return g.add("STFT", [signal, g.constant(g.integer(1, 5)), window,
                          g.constant(length)], onesided=g.integer(0, 2))
