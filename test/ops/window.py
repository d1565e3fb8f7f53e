# RUN: %python %s
"""Pooling."""
import itertools

import numpy as np

from harness import case, ints, random, run


def windows(x, window, strides, pads, dilations, shape):
    """For every result index, the indices under the window, also outside of x."""
    for at in itertools.product(*(range(n) for n in shape)):
        yield at, [[i * s - p + k * d for k in range(w)] for i, s, p, d, w in
                   zip(at, strides, pads, dilations, window)]


def pool(x, kind, window, strides, pads, dilations, shape, include_pad):
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    y = np.zeros((*x.shape[:2], *shape), wide.dtype)
    rank = len(window)
    for at, places in windows(x, window, strides, pads, dilations, shape):
        inside = [[i for i in p if 0 <= i < n]
                  for p, n in zip(places, x.shape[2:])]
        part = wide[np.ix_(range(x.shape[0]), range(x.shape[1]), *inside)]
        axes = tuple(range(2, rank + 2))
        if kind == "max_pool":
            value = part.max(axes)
        else:
            counted = inside if not include_pad else [
                [i for i in p if -low <= i < n + high] for p, n, low, high in
                zip(places, x.shape[2:], pads[:rank], pads[rank:])]
            value = part.sum(axes) / np.prod([len(c) for c in counted])
        y[(slice(None), slice(None), *at)] = value
    return y.astype(x.dtype)


def check(kind, x, window, shape, strides=None, pads=None, dilations=None,
          include_pad=False):
    rank = len(window)
    strides = strides or [1] * rank
    pads = pads or [0] * 2 * rank
    dilations = dilations or [1] * rank
    y = pool(x, kind, window, strides, pads, dilations, shape, include_pad)
    for last in (False, True):
        attributes = [ints("window", window), ints("strides", strides),
                      ints("pads", pads), ints("dilations", dilations),
                      ints("shape", shape)]
        attributes += ["include_pad"] * include_pad + ["channels_last"] * last
        axis = -1 if last else 1
        case(kind, [np.moveaxis(x, 1, axis)], np.moveaxis(y, 1, axis),
             ", ".join(attributes))


x = random(2, 3, 7, 6)
for kind in ("max_pool", "avg_pool"):
    for v in (x, x.astype(np.float16)):
        check(kind, v, (2, 3), (6, 4))
        check(kind, v, (3, 3), (4, 3), [2, 2], [1, 1, 1, 1])
    check(kind, x, (2, 2), (6, 4), dilations=[1, 2])
    check(kind, x, (7, 6), (1, 1))
    # As ceil_mode: the last windows reach past the end.
    check(kind, x, (2, 4), (4, 2), [2, 4])
    check(kind, x, (3, 3), (4, 4), [2, 2], [1, 1, 0, 0], [1, 2])
    check(kind, random(2, 3, 9), (4,), (4,), [2], [1, 0])
    check(kind, random(1, 2, 3, 4, 5), (2, 2, 2), (2, 3, 4))
check("avg_pool", x, (3, 3), (4, 3), [2, 2], [1, 1, 1, 1], include_pad=True)
check("avg_pool", x, (3, 4), (3, 2), [2, 4], [1, 1, 0, 0], include_pad=True)
check("max_pool", (x * 20).astype(np.int8), (2, 2), (6, 5))
check("max_pool", (x * 20 + 100).astype(np.uint8), (2, 2), (4, 3), [2, 2],
      [1, 0, 0, 0])

for v in (x, (x * 3).astype(np.int32)):
    y = pool(v, "max_pool", (3, 2), [2, 2], [1, 0, 1, 0], [1, 1], (4, 3),
             False)
    places = np.zeros(y.shape, np.int64)
    for n, c, i, j in np.ndindex(y.shape):
        places[n, c, i, j] = min(
            h * 6 + w for h in range(2 * i - 1, 2 * i + 2)
            for w in range(2 * j, 2 * j + 2)
            if 0 <= h < 7 and v[n, c, h, w] == y[n, c, i, j])
    case("max_pool_places", [v, y], places, ", ".join(
        [ints("window", (3, 2)), ints("strides", (2, 2)),
         ints("pads", (1, 0, 1, 0)), ints("dilations", (1, 1))]))
run()
