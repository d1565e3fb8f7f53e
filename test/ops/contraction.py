# RUN: %python %s
"""Matrix products and convolutions."""
import itertools

import numpy as np

from harness import case, ints, random, run


def matmul_case(a, b, swap_a=False, swap_b=False, tolerance=None):
    wide = np.float64 if a.dtype.kind == "f" else a.dtype
    expected = (a.astype(wide) @ b.astype(wide)).astype(a.dtype)
    attributes = []
    if swap_a:
        a = a.swapaxes(-1, -2)
        attributes.append("transpose_a")
    if swap_b:
        b = b.swapaxes(-1, -2)
        attributes.append("transpose_b")
    case("matmul", [a, b], expected, ", ".join(attributes), tolerance)


a, b = random(5, 7), random(7, 6)
for swap_a, swap_b in itertools.product((False, True), repeat=2):
    matmul_case(a, b, swap_a, swap_b)
    matmul_case(random(2, 1, 5, 7), random(3, 7, 6), swap_a, swap_b)
matmul_case(random(1, 1), random(1, 1))
matmul_case(random(7), b)
matmul_case(a, random(7))
matmul_case(random(7), random(7))
matmul_case(random(7), random(2, 7, 6))
matmul_case(random(2, 5, 7), random(7))
matmul_case(random(0, 7), b)
matmul_case(random(3, 0), random(0, 4))
matmul_case(a.astype(np.float64), b.astype(np.float64))
matmul_case(a.astype(np.int32), b.astype(np.int32))
matmul_case(a.astype(np.float16), b.astype(np.float16))
# 4096 ones sum to 4096 only if the accumulator is wider than f16.
matmul_case(np.ones((1, 4096), np.float16), np.ones((4096, 1), np.float16))


def conv(x, w, bias, strides, pads, dilations, group):
    """Convolution by its definition, in double precision."""
    rank = x.ndim - 2
    x, w = x.astype(np.float64), w.astype(np.float64)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations)]
    out = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, strides)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    per_group, filters = w.shape[1], w.shape[0] // group
    for at in itertools.product(*(range(n) for n in out)):
        window = tuple(slice(i * s, i * s + r, d)
                       for i, s, r, d in zip(at, strides, reach, dilations))
        for k in range(w.shape[0]):
            first = k // filters * per_group
            part = x[(slice(None), slice(first, first + per_group), *window)]
            y[(slice(None), k, *at)] = (part * w[k]).sum(
                axis=tuple(range(1, rank + 2)))
    if bias is not None:
        y += bias.astype(np.float64).reshape(-1, *[1] * rank)
    return y


def conv_case(shape, filters, window, strides=None, pads=None, dilations=None,
              group=1, bias=True, dtype=np.float32, wide=False):
    rank = len(window)
    strides = strides or [1] * rank
    pads = pads or [0] * 2 * rank
    dilations = dilations or [1] * rank
    x = random(*shape, dtype=dtype)
    w = random(filters, shape[1] // group, *window, low=-1, high=1,
               dtype=dtype)
    b = random(filters, dtype=np.float32 if wide else dtype) if bias else None
    y = conv(x, w, b, strides, pads, dilations, group).astype(dtype)
    for last in (False, True):
        def order(v):
            return np.moveaxis(v, 1, -1) if last else v
        inputs = [order(x), order(w)] + ([b] if bias else [])
        attributes = [ints("strides", strides), ints("pads", pads),
                      ints("dilations", dilations), f"group = {group} : i64"]
        if last:
            attributes.append("channels_last")
        case("conv", inputs, order(y), ", ".join(attributes))


conv_case((2, 3, 7, 6), 4, (3, 2))
conv_case((2, 3, 7, 6), 4, (3, 2), bias=False)
conv_case((1, 3, 7, 6), 4, (1, 1), strides=[2, 1])
conv_case((1, 3, 7, 6), 4, (3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
conv_case((1, 3, 7, 6), 4, (3, 3), pads=[0, 2, 1, 0], dilations=[2, 1])
conv_case((1, 4, 5, 5), 6, (3, 3), pads=[1, 1, 1, 1], group=2)
conv_case((1, 4, 5, 5), 4, (3, 3), group=4, bias=False)
conv_case((2, 3, 9), 4, (4,), strides=[2], pads=[1, 2])
conv_case((1, 2, 4, 5, 4), 3, (2, 3, 2), pads=[1, 0, 0, 0, 1, 1])
conv_case((1, 3, 7, 6), 4, (3, 3), pads=[1, 1, 1, 1], dtype=np.float16)
conv_case((1, 3, 7, 6), 4, (3, 3), bias=False, dtype=np.float16)
conv_case((1, 3, 7, 6), 4, (1, 1), dtype=np.float16, wide=True)


def depthwise_case(shape, window, strides, pads, dilations, dtype=np.float32):
    x = random(*shape, dtype=dtype)
    w = random(*window, shape[-1], low=-1, high=1, dtype=dtype)
    y = conv(np.moveaxis(x, -1, 1), np.moveaxis(w, -1, 0)[:, None], None,
             strides, pads, dilations, shape[-1])
    case("depthwise_conv", [x, w], np.moveaxis(y, 1, -1).astype(dtype),
         ", ".join([ints("strides", strides), ints("pads", pads),
                    ints("dilations", dilations)]))


for dtype in (np.float32, np.float16, np.float64):
    depthwise_case((2, 7, 9, 4), (3, 3), [1, 1], [1, 1, 1, 1], [1, 1], dtype)
depthwise_case((1, 8, 7, 3), (2, 3), [2, 1], [1, 0, 0, 2], [3, 2])
depthwise_case((2, 11, 6), (4,), [2], [1, 2], [1])
depthwise_case((1, 4, 5, 4, 2), (2, 3, 2), [1, 1, 2], [1, 0, 0, 0, 1, 1],
               [1, 1, 1])
def quantized_case(shape, filters, window, types=("u1", "i1"), zeros=(117, 0),
                   offset=False, scales=0, bias=False, y_zero=None, relu=False,
                   strides=None, pads=None, group=1):
    """`types` are those of x, w and, with `y_zero`, the result."""
    rank = len(window)
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    limits = [np.iinfo(t) for t in types]
    x, w = (np.random.default_rng(1).integers(limit.min, limit.max + 1, size, limit.dtype)
            for limit, size in zip(limits, ((shape[0], *shape[1:]),
                                            (filters, *window, shape[-1] // group))))
    inputs = [x, w, *(np.array(zero, t) for zero, t in zip(zeros, types))]
    centred = [np.moveaxis(v.astype(np.int64) - zero, -1, 1) for v, zero in zip((x, w), zeros)]
    sums = conv(*centred, None, strides, pads, [1] * rank, group)
    y = np.moveaxis(sums, 1, -1).astype(np.int32)
    if offset:
        inputs.append(np.arange(filters, dtype=np.int32) * 1000 - 2000)
        y = y + inputs[-1]
    if scales:
        # Powers of two, so that nothing depends on the order of roundings.
        inputs.append(np.float32(2.) ** (-9 - np.arange(scales, dtype=np.float32) % 3))
        y = y.astype(np.float32) * inputs[-1]
    if bias:
        inputs.append(np.arange(filters, dtype=np.float32) / 4)
        y = y + inputs[-1]
    if relu:
        y = np.maximum(y, 0)
    if y_zero is not None:
        inputs.append(np.array(y_zero, types[2]))
        y = np.clip(np.rint(y) + y_zero, limits[2].min, limits[2].max).astype(types[2])
    given = [1, 1, 1, 1, offset, bool(scales), bias, y_zero is not None]
    attributes = [ints("strides", strides), ints("pads", pads), ints("dilations", [1] * rank),
                  f"group = {group} : i64",
                  f"operandSegmentSizes = array<i32: {', '.join(str(int(g)) for g in given)}>"]
    case("quantized_conv", inputs, y, ", ".join(attributes + ["relu"] * relu))


quantized_case((5, 37), 3, ())
quantized_case((5, 37), 4, (), ("i1", "u1"), (-3, 121), offset=True, scales=4)
quantized_case((2, 7, 6, 3), 5, (3, 2), pads=[1, 0, 2, 1], strides=[2, 1])
quantized_case((1, 5, 5, 4), 6, (3, 3), ("u1", "i1", "u1"), pads=[1, 1, 1, 1], group=2,
               offset=True, scales=6, bias=True, y_zero=3, relu=True)
quantized_case((1, 5, 5, 4), 4, (3, 3), ("i1", "i1", "i1"), (5, 0), pads=[1, 1, 1, 1], group=4,
               scales=1, y_zero=-20)
quantized_case((2, 9, 3), 4, (4,), scales=1, bias=True, strides=[2], pads=[1, 2])
run()
