# RUN: %python %s
"""Gradients of operators that are composed of others: of what fusions compute on the
way, and of the operators of the backward pass."""
import numpy as np

from harness import gradient, ints, random, run


def doubles(*shape, low=-1, high=1, seed=0):
    return random(*shape, dtype=np.float64, low=low, high=high, seed=seed)


# Moments, and norms by given moments, whose second number is a sum of squares.
x = doubles(2, 3, 8)
for width in (1, 4, 8):
    gradient("moments", [x], (2, 3, 8 // width, 2), f"width = {width} : si64")
    moments = np.stack([doubles(2, 3, 8 // width, seed=1),
                        doubles(2, 3, 8 // width, low=0.5, high=2, seed=2)], -1)
    rest = f"width = {width} : si64, epsilon = 1.0e-3 : f32"
    column, offset = doubles(8, seed=3), doubles(8, seed=4)
    gradient("normalize", [x, moments, column, offset], x.shape, rest)
    gradient("normalize_product", [x, moments, column, offset], x.shape, rest)
rows = doubles(2, 6, 5)
for height in (1, 3, 12):
    attribute = f"height = {height} : si64"
    gradient("column_moments", [rows], (2, 12 // height, 5), attribute)
    gradient("column_sums", [rows], (12 // height, 5), attribute)
for width in (1, 4, 8):
    gradient("row_dots", [x, doubles(2, 3, 8, seed=1)], (6, 8 // width),
             f"width = {width} : si64")

gradient("gate_columns", [doubles(2, 32)], (2, 16), 'activation = "silu"')

# Gradients of convolutions and pools.
for group, (stride, pads, dilation) in ((1, (1, (1, 1), 1)), (2, (2, (2, 0), 2))):
    count = (9 + sum(pads) - 2 * dilation - 1) // stride + 1
    x, w, dy = doubles(2, 4, 9), doubles(6, 4 // group, 3, seed=1), doubles(2, 6, count, seed=2)
    lists = (f"{ints('strides', [stride])}, {ints('pads', pads)}, "
             f"{ints('dilations', [dilation])}, group = {group} : i64")
    for last in (False, True):
        def turn(a):
            return np.moveaxis(a, 1, -1) if last else a

        flags = lists + (", channels_last" if last else "")
        gradient("conv_grad_input", [turn(dy), turn(w)], turn(x).shape,
                 f"{ints('shape', [9])}, {flags}")
        gradient("conv_grad_weight", [turn(x), turn(dy)], turn(w).shape,
                 f"{ints('shape', [3])}, {flags}")
x = np.random.default_rng(0).permutation(14).reshape(1, 2, 7) / 8.0
lists = (f"{ints('window', [3])}, {ints('strides', [2])}, {ints('dilations', [1])}, "
         f"{ints('pads', [1, 1])}")
padded = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=-9)
y = np.stack([padded[..., at:at + 3].max(-1) for at in (0, 2, 4, 6)], -1)
for last in (False, True):
    def turn(a):
        return np.moveaxis(a, 1, -1) if last else a

    flags = lists + (", channels_last" if last else "")
    # The index of the largest element is a step function of x and y.
    gradient("max_pool_grad", [turn(v) for v in (x, y, doubles(1, 2, 4))], turn(x).shape,
             flags, of=[2])
    for flag in ("", ", include_pad"):
        gradient("avg_pool_grad", [turn(doubles(1, 2, 4))], turn(x).shape,
                 f"{flags}, {ints('shape', [7])}{flag}")

lists = f"{lists}, {ints('shape', [7])}"
gradient("sum_over_windows", [doubles(1, 2, 4)], x.shape, lists)
gradient("sum_over_windows", [doubles(1, 2, 4), np.array([[[1, 2, 4, 5], [0, 1, 3, 6]]])],
         x.shape, lists)
gradient("sum_over_windows", [doubles(2, 1, 2, 2)], (2, 1, 6, 5), ", ".join(
    ints(*part) for part in (("window", (2, 3)), ("strides", (3, 2)), ("pads", (1, 0, 0, 3)),
                             ("dilations", (2, 1)), ("shape", (6, 5)))))

# Sums by index; some indices count from the end.
numbers = np.random.default_rng(7)
for size, picked, axis in ((5, (4,), 0), (3, (2, 6), 1), (40, (3,), 1)):
    indices = numbers.integers(-size, size, picked)
    before, after = (2,) * axis, (3,)
    gradient("gather_grad", [doubles(*before, *picked, *after), indices],
             (*before, size, *after), f"size = {size} : i64, axis = {axis} : i64")
gradient("segment_sum", [doubles(5, 3), np.array([4, 0, 2, 1, 3]), np.array([0, 2, 2, 2, 5])],
         (7, 3), "size = 7 : i64")

# The gradient of a loss; a row counts for nothing.
logits, dy = doubles(5, 7, low=-4, high=4), doubles(5, seed=1)
gradient("cross_entropy_grad", [logits, np.array([0, 6, -100, 3, 3]), dy], logits.shape)
gradient("cross_entropy_grad", [logits, np.array([0, 6, 3, 5, 1]), dy], logits.shape,
         "ignore_index = 3 : si64, label_smoothing = 0.125 : f32")

# Attention with as many keys as queries, causal or not, and with more keys.
for flags, keys, mask in (("", 4, None), (", causal", 4, None), ("", 6, doubles(4, 6, seed=9))):
    q, k, v = doubles(2, 4, 4, 3), doubles(2, 2, keys, 3, seed=1), doubles(2, 2, keys, 3, seed=2)
    masks = [] if mask is None else [mask]
    flags = "scale = 0.6 : f32" + flags
    gradient("attention_stats", [q, k, *masks], (2, 4, 4), flags)
    # Near what the forward pass gives, where the weights are no more than 1.
    y, dy, stats = doubles(2, 4, 4, 3, seed=3), doubles(2, 4, 4, 3, seed=4), doubles(
        2, 4, 4, low=1, high=2, seed=5)
    shape = (2, 4, 8, 3) if keys == 4 else (2 * 4 * 4 + 2 * 2 * keys * 2, 3)
    gradient("attention_grad", [q, k, v, y, dy, stats, *masks], shape, flags)
run()
