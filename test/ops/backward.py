# RUN: %python %s
"""Operators of the backward pass."""
import math

import numpy as np

from harness import case, ints, random, run

TOLERANCE = {np.float32: 1e-4, np.float16: 2e-2}


def windows(size, window, stride, pad, dilation, count):
    """For each window, the pairs of an offset in it and an index into x."""
    return [[(w, at) for w in range(window)
             if 0 <= (at := o * stride - pad + w * dilation) < size]
            for o in range(count)]


# A convolution's gradients, by its definition.
for dtype in (np.float32, np.float16):
    for group, (stride, pads, dilation) in ((1, (1, (1, 1), 1)),
                                            (2, (2, (2, 0), 2))):
        x, w = random(2, 4, 9).astype(dtype), random(6, 4 // group, 3).astype(dtype)
        count = (9 + sum(pads) - 2 * dilation - 1) // stride + 1
        dy = random(2, 6, count, seed=1).astype(dtype)
        dx, dw = np.zeros(x.shape), np.zeros(w.shape)
        for o, pairs in enumerate(windows(9, 3, stride, pads[0], dilation, count)):
            for offset, at in pairs:
                for k in range(6):
                    first = k // (6 // group) * (4 // group)
                    part = slice(first, first + 4 // group)
                    dx[:, part, at] += dy[:, k, o, None] * w[k, :, offset]
                    dw[k, :, offset] += (dy[:, k, o, None] * x[:, part, at]).sum(0)
        lists = (f"{ints('strides', [stride])}, {ints('pads', pads)}, "
                 f"{ints('dilations', [dilation])}, group = {group} : i64")
        for last in (False, True):
            def turn(a):
                return np.moveaxis(a, 1, -1) if last else a

            flags = lists + (", channels_last" if last else "")
            case("conv_grad_input", [turn(dy), turn(w)],
                 turn(dx.astype(dtype)), f"{ints('shape', [9])}, {flags}",
                 TOLERANCE[dtype])
            case("conv_grad_weight", [turn(x), turn(dy)],
                 turn(dw.astype(dtype)), f"{ints('shape', [3])}, {flags}",
                 TOLERANCE[dtype])

# A table of embeddings.
numbers = np.random.default_rng(7)
for dtype in (np.float32, np.float16):
    for size, picked in ((50, (4, 9)), (3, (11,)), (5, (1,)), (200, (100,))):
        indices = numbers.integers(-size, size, picked)
        dy = random(2, *picked, 3).astype(dtype)
        dx = np.zeros((2, size, 3))
        np.add.at(dx, (slice(None), indices), dy.astype(np.float64))
        case("gather_grad", [dy, indices], dx.astype(dtype),
             f"size = {size} : i64, axis = 1 : i64", TOLERANCE[dtype])
# One index for all: a tree of f32 sums loses nothing of 16-bit rows.
case("gather_grad", [np.full((4097, 1), 1, np.float16), np.full(4097, 6)],
     np.float16([0] * 6 + [4097] + [0]).reshape(8, 1),
     "size = 8 : i64, axis = 0 : i64", 1e-12)
for dtype in (np.float32, np.float16):
    x, segments = random(5, 3).astype(dtype), np.array([0, 2, 2, 2, 5])
    order = np.array([4, 0, 2, 1, 3])
    sums = np.zeros((7, 3))
    np.add.at(sums, segments, x[order].astype(np.float64))
    case("segment_sum", [x, order, segments], sums.astype(dtype), "size = 7 : i64",
         TOLERANCE[dtype])

# Pools: a window's first maximum, and equal parts.
x = np.array([[[1, 3, 3, 2, 3, -1, -1]]], np.float32)
lists = f"{ints('window', [3])}, {ints('strides', [2])}, {ints('dilations', [1])}"
y, dy = np.float32([[[3, 3, 3, -1]]]), np.float32([[[1, 10, 100, 1000]]])
case("max_pool_grad", [x, y, dy], np.float32([[[0, 11, 0, 0, 100, 1000, 0]]]),
     f"{lists}, {ints('pads', [1, 1])}")
case("max_pool_grad", [v.reshape(1, -1, 1) for v in (x, y, dy)],
     np.float32([[[0, 11, 0, 0, 100, 1000, 0]]]).reshape(1, -1, 1),
     f"{lists}, {ints('pads', [1, 1])}, channels_last")
places = np.array([[[1, 2, 4, 5]]])
case("sum_over_windows", [dy, places],
     np.float32([[[0, 1, 10, 0, 100, 1000, 0]]]),
     f"{lists}, {ints('pads', [1, 1])}, {ints('shape', [7])}")
case("sum_over_windows", [dy],
     np.float32([[[1, 11, 10, 110, 100, 1100, 1000]]]),
     f"{lists}, {ints('pads', [1, 1])}, {ints('shape', [7])}")
for flag, sums in (("", [0.5, 0.5 + 10 / 3, 10 / 3, 130 / 3, 40, 640, 600]),
                   (", include_pad", [1 / 3, 11 / 3, 10 / 3, 130 / 3, 40, 440,
                                      400])):
    case("avg_pool_grad", [np.float32([[[1, 10, 120, 1200]]])],
         np.float32(sums).reshape(1, 1, 7),
         f"{lists}, {ints('pads', [1, 1])}, {ints('shape', [7])}{flag}")

# Slopes, also where powers of x leave f32.
x = np.array([-1e38, -1e20, -30, -3, -1, -0.1, 0, 0.1, 1, 3, 30, 1e20, 1e38])
near = np.clip(x, -30, 30)
slope = 0.5 * (1 + np.vectorize(math.erf)(near / math.sqrt(2))) + \
    near * np.exp(-near ** 2 / 2) / math.sqrt(2 * math.pi)
inner = math.sqrt(2 / math.pi)
t = np.tanh(inner * (near + 0.044715 * near ** 3))
curve = 0.5 * (1 + t) + 0.5 * near * (1 - t * t) * inner * \
    (1 + 3 * 0.044715 * near ** 2)
case("gelu_slope", [x.astype(np.float32)], slope.astype(np.float32))
case("gelu_slope", [x.astype(np.float32)], curve.astype(np.float32),
     'approximate = "tanh"')
dy = random(13)
case("gelu_grad", [x.astype(np.float32), dy], (slope * dy).astype(np.float32))
case("gelu_grad", [x.astype(np.float32), dy], (curve * dy).astype(np.float32),
     'approximate = "tanh"')

# Attention of four heads of queries and two of keys, by FlashAttention's formulas, with as many
# keys as queries and with more; with more, the last query sees none.
for dtype in (np.float32, np.float16):
    for causal, keys in ((False, 5), (True, 5), (False, 7)):
        q, dy = random(2, 4, 5, 8).astype(dtype), random(2, 4, 5, 8, seed=1).astype(dtype)
        k = random(2, 2, keys, 8, seed=2).astype(dtype)
        v = random(2, 2, keys, 8, seed=3).astype(dtype)
        q64, k64, v64, dy64 = (a.astype(np.float64) for a in (q, k, v, dy))
        k64, v64 = k64.repeat(2, 1), v64.repeat(2, 1)
        scores = q64 @ k64.swapaxes(2, 3) * 0.25
        masks = []
        if causal:
            scores += np.triu(np.full((5, 5), -np.inf), 1)
        if keys > 5:
            masks.append(np.where(np.arange(5) == 4, -np.inf, 0).astype(dtype).reshape(5, 1))
            scores += masks[0]
        most = np.maximum(scores.max(-1, keepdims=True), -1e30)
        powers = np.exp(scores - most)
        total = powers.sum(-1, keepdims=True)
        weights = powers / np.where(total == 0, 1, total)
        stats = np.where(total == 0, np.inf, most + np.log(np.where(total == 0, 1, total)))
        stats = stats[..., 0].astype(np.float32)
        y = weights @ v64
        ds = weights * (dy64 @ v64.swapaxes(2, 3) - (dy64 * y).sum(-1, keepdims=True)) * 0.25
        dk, dv = (a.reshape(2, 2, 2, keys, 8).sum(2)
                  for a in (ds.swapaxes(2, 3) @ q64, weights.swapaxes(2, 3) @ dy64))
        if keys == 5:
            expected = np.concatenate([ds @ k64, dk, dv], 1).swapaxes(1, 2)
        else:
            expected = np.concatenate([a.swapaxes(1, 2).reshape(-1, 8)
                                       for a in (ds @ k64, dk, dv)])
        flags = "scale = 0.25 : f32" + (", causal" if causal else "")
        case("attention_stats", [q, k, *masks], stats, flags, TOLERANCE[dtype])
        case("attention_grad", [q, k, v, y.astype(dtype), dy, stats, *masks],
             expected.astype(dtype), flags, TOLERANCE[dtype])
        delta = (dy64 * y).sum(-1).astype(np.float32)
        case("attention_grad", [q, k, v, delta, dy, stats, *masks],
             expected.astype(dtype), flags, TOLERANCE[dtype])
run()
