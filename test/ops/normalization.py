# RUN: %python %s
"""Softmax and the norms."""
import numpy as np

from harness import case, random, run

x = random(3, 4, 6)
f16 = np.float16


def softmax(v, axis):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


for v in (x, x.astype(f16), x.astype(np.float64), x * 300):
    wide = v.astype(np.float64)
    for axis in (0, 1, -1):
        attribute = f"axis = {axis} : si64"
        y = softmax(wide, axis)
        case("softmax", [v], y.astype(v.dtype), attribute)
        with np.errstate(divide="ignore"):
            z = wide - wide.max(axis, keepdims=True)
            log = z - np.log(np.exp(z).sum(axis, keepdims=True))
        case("log_softmax", [v], log.astype(v.dtype), attribute)
case("softmax", [x], softmax(x, -1))


def layer_norm(v, scale, bias, axis, epsilon):
    v = v.astype(np.float64)
    axes = tuple(range(axis % v.ndim, v.ndim))
    centred = v - v.mean(axes, keepdims=True)
    variance = (centred ** 2).mean(axes, keepdims=True)
    y = centred / np.sqrt(variance + epsilon) * scale
    return y if bias is None else y + bias


def rms_norm(v, scale, axis, epsilon):
    v = v.astype(np.float64)
    axes = tuple(range(axis % v.ndim, v.ndim))
    return v / np.sqrt((v ** 2).mean(axes, keepdims=True) + epsilon) * scale


# The square of 1000 exceeds f16.
for axis in (-1, 1):
    for v in (x, x.astype(f16), (x * 1000).astype(f16)):
        scale = random(*x.shape[axis:], seed=2).astype(v.dtype)
        case("rms_norm", [v, scale],
             rms_norm(v, scale, axis, 1e-5).astype(v.dtype),
             f"axis = {axis} : si64")
case("rms_norm", [x, np.ones(6, np.float32)],
     rms_norm(x, 1, -1, 0.1).astype(np.float32), "epsilon = 0.1 : f32")

for axis in (-1, 1):
    for v in (x, x.astype(f16), x + np.float32(1000)):
        scale = random(*x.shape[axis:], seed=2).astype(v.dtype)
        bias = random(*x.shape[axis:], seed=3).astype(v.dtype)
        tolerance = 2e-3 if v[0, 0, 0] > 500 else None
        case("layer_norm", [v, scale, bias],
             layer_norm(v, scale, bias, axis, 1e-5).astype(v.dtype),
             f"axis = {axis} : si64", tolerance)
        case("layer_norm", [v, scale],
             layer_norm(v, scale, None, axis, 0.1).astype(v.dtype),
             f"axis = {axis} : si64, epsilon = 0.1 : f32", tolerance)
case("layer_norm", [x.astype(f16), np.ones(6, np.float32)],
     layer_norm(x.astype(f16), 1, None, -1, 1e-5).astype(f16))



def moments(v, width):
    """[..., n / width, 2]"""
    parts = v.astype(np.float64).reshape(*v.shape[:-1], -1, width)
    mean = parts.mean(-1)
    squares = ((parts - mean[..., None]) ** 2).sum(-1)
    return np.stack([mean, squares], -1).astype(np.float32)


rows = random(3, 5, 12) + np.float32(7)
weights, column = random(12, 8, seed=4), random(12, seed=5)
offset, bias = random(3, 5, 12, seed=6), random(8, seed=7)
attributes = "width = 4 : si64, epsilon = 0.1 : f32"
case("moments", [rows], moments(rows, 4), "width = 4 : si64")
case("moments", [rows.astype(f16)], moments(rows.astype(f16), 3),
     "width = 3 : si64")
parts = rows.astype(np.float64).reshape(5, 3, 12)
means = parts.mean(1)
case("column_moments", [rows],
     np.stack([means, ((parts - means[:, None]) ** 2).sum(1)]).astype(np.float32),
     "height = 3 : si64", 1e-4)
case("column_sums", [rows], parts.sum(1).astype(np.float32), "height = 3 : si64", 1e-5)
case("row_dots", [rows, random(3, 5, 12, seed=6)],
     (rows * random(3, 5, 12, seed=6).astype(np.float64)).reshape(15, 3, 4).sum(2)
     .astype(np.float32), "width = 4 : si64", 1e-5)
case("merge_moments", [moments(rows, 3)], moments(rows, 12),
     "width = 3 : si64", 1e-4)
case("normalize", [rows, moments(rows, 4), column, offset],
     (layer_norm(rows, column, None, -1, 0.1) + offset).astype(np.float32),
     attributes, 1e-4)
case("normalize", [rows.astype(f16), moments(rows, 4), column,
                   column.astype(f16)],
     (layer_norm(rows.astype(f16), column, None, -1, 0.1)
      + column).astype(f16), attributes, 1e-2)
case("normalize_product",
     [rows @ weights, moments(rows, 4), weights.sum(0), bias],
     (layer_norm(rows, 1, None, -1, 0.1) @ weights + bias).astype(np.float32),
     attributes, 1e-4)

for shape in ((2, 3, 4, 5), (2, 3), (2, 3, 6)):
    for dtype in (np.float32, f16):
        v, scale, bias, mean = (a.astype(dtype) for a in (
            random(*shape), random(3), random(3, seed=1), random(3, seed=2)))
        variance = random(3, low=0.2, high=3).astype(dtype)
        column = (-1, *[1] * (len(shape) - 2))
        s, b, m, var = (a.astype(np.float64).reshape(column)
                        for a in (scale, bias, mean, variance))
        y = (v.astype(np.float64) - m) / np.sqrt(var + 1e-5) * s + b
        case("batch_norm", [v, scale, bias, mean, variance], y.astype(dtype))
        wide = v.astype(np.float32)
        others = tuple(d for d in range(len(shape)) if d != 1)
        means = wide.mean(others)
        deviations = wide - means.reshape(column)
        variances = (deviations ** 2).mean(others)
        case("batch_mean", [v], means, tolerance=1e-5)
        case("batch_variance", [v, means], variances, tolerance=1e-5)
        last = np.moveaxis(v, 1, -1).copy()
        case("batch_mean", [last], means, "channels_last", tolerance=1e-5)
        case("batch_variance", [last, means], variances, "channels_last",
             tolerance=1e-5)

# A pointwise convolution, normalized by the mean and variance of its result.
for shape in ((2, 3, 4, 5), (6, 2, 3)):
    v, w, scale, bias = (random(*shape, seed=3), random(7, *[1] * (len(shape) - 2), shape[-1]),
                         random(7, seed=1), random(7, seed=2))
    z = v.astype(np.float64) @ w.reshape(7, -1).T.astype(np.float64)
    others = tuple(range(len(shape) - 1))
    y = (z - z.mean(others)) / np.sqrt(z.var(others) + 1e-3) * scale + bias
    case("conv_batch_norm", [v, w, scale, bias], y.astype(np.float32),
         "parts = 2 : si64, epsilon = 1.0e-3 : f32", 1e-4)

# Groups of neighbouring channels, which come last; one group, and one channel a
# group. What is far from zero keeps its precision.
for shape, groups in (((2, 5, 7, 12), 3), ((3, 4, 6), 1), ((2, 3, 8), 8),
                      ((5, 6), 2), ((4, 16, 16, 24), 4)):
    scale, bias = random(shape[-1], seed=1), random(shape[-1], seed=2)
    for v in (random(*shape) + np.float32(30), random(*shape).astype(f16)):
        wide = v.astype(np.float64).reshape(shape[0], -1, groups,
                                            shape[-1] // groups)
        mean = wide.mean((1, 3), keepdims=True)
        variance = ((wide - mean) ** 2).mean((1, 3), keepdims=True)
        y = ((wide - mean) / np.sqrt(variance + 1e-3)).reshape(shape)
        means, variances = (a.reshape(shape[0], groups, 1).astype(np.float32)
                            for a in (mean, variance))
        attribute = f"groups = {groups} : si64"
        case("group_mean", [v], means, attribute, 1e-4)
        case("group_variance", [v, means], variances, attribute, 1e-4)
        case("group_norm", [v, scale, bias], (y * scale + bias).astype(v.dtype),
             attribute + ", epsilon = 1.0e-3 : f32",
             1e-4 if v.dtype == np.float32 else 1e-2)
run()
