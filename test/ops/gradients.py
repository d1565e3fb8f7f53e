# RUN: %python %s
"""Gradients of elementwise operators, movement and reductions."""
import numpy as np

from harness import gradient, ints, random, run


def doubles(*shape, low=-3, high=3, seed=0):
    """Numbers that stay away from the kinks of integers and of thirds."""
    x = random(*shape, dtype=np.float64, low=low, high=high, seed=seed)
    return np.where(abs(x * 3 - np.round(x * 3)) < 1e-2, x + 0.02, x)


x, wide = doubles(3, 5), doubles(2, 3, 5, seed=1)
row, column = doubles(5, seed=2), doubles(3, 1, seed=3)
positive = doubles(3, 5, low=0.3, high=4, seed=4)
unit = doubles(3, 5, low=-0.9, high=0.9, seed=5)

# Both operands broadcast.
for op in ("add", "sub", "mul", "div", "max", "min"):
    def apart(y):  # No divisor is close to 0.
        return np.sign(y) * (abs(y) + 0.3) if op == "div" else y

    gradient(op, [x, apart(doubles(3, 5, seed=6))], (3, 5))
    gradient(op, [wide, apart(column)], (2, 3, 5))
    gradient(op, [row, apart(column)], (3, 5))
    gradient(op, [doubles(), apart(wide)], (2, 3, 5))
gradient("mul", [x.astype(np.float16), row.astype(np.float16)], (3, 5))
gradient("div", [x.astype(np.float32), row.astype(np.float32)], (3, 5))
for fmod in (0, 1):
    gradient("mod", [x, doubles(5, low=0.7, seed=7)], (3, 5),
             f"fmod = {fmod} : si64")
    gradient("mod", [x, doubles(5, low=-2, high=-0.7, seed=8)], (3, 5),
             f"fmod = {fmod} : si64")
gradient("pow", [positive, column], (3, 5))
gradient("pow", [x, np.float64(3)], (3, 5), of=[0])
gradient("pow", [np.append(x, 0), np.float64(2)], (16,), of=[0])
gradient("pow", [np.append(x, 0), np.int64(0)], (16,))
gradient("where", [x > 0, x, row], (3, 5))

for op in ("neg", "abs", "exp", "sin", "cos", "atan", "sinh", "cosh", "asinh",
           "tanh", "erf", "sign", "floor", "ceil", "round", "reciprocal",
           "relu", "sigmoid", "silu", "softplus", "mish", "softsign",
           "hard_swish", "leaky_relu", "elu", "selu", "hard_sigmoid", "gelu"):
    gradient(op, [x], x.shape)
    gradient(op, [x.astype(np.float16)], x.shape)
for op in ("log", "sqrt", "rsqrt"):
    gradient(op, [positive], x.shape)
for op in ("tan", "asin", "acos", "atanh"):
    gradient(op, [unit], x.shape)
gradient("acosh", [positive + 1], x.shape)
gradient("leaky_relu", [x], x.shape, "alpha = 0.3 : f32")
gradient("elu", [x], x.shape, "alpha = 0.5 : f32")
gradient("selu", [x], x.shape, "alpha = 0.5 : f32, gamma = 2.0 : f32")
gradient("hard_sigmoid", [x], x.shape, "alpha = 0.25 : f32, beta = 0.4 : f32")
gradient("gelu", [x], x.shape, 'approximate = "tanh"')
# Far from zero nothing overflows.
far = np.array([-3e4, -200, -40, 40, 200, 3e4])
for attributes in ("", 'approximate = "tanh"'):
    gradient("gelu", [far], far.shape, attributes, tolerance=1e-6)
    gradient("gelu", [far.astype(np.float16)], far.shape, attributes)
for op in ("silu", "mish", "softplus", "sigmoid", "tanh", "softsign"):
    gradient(op, [far], far.shape, tolerance=1e-6)

gradient("dropout", [x], x.shape, "rate = 0.25 : f32")
gradient("cast", [x], x.shape, "to = f64")
gradient("reshape", [x], (5, 3), ints("shape", (5, 3)))
gradient("expand", [column], (2, 3, 5), ints("shape", (2, 3, 5)))
gradient("transpose", [wide], (5, 2, 3), ints("perm", (2, 0, 1)))
gradient("trilu", [wide], wide.shape, "k = 1 : i64, upper = true")
gradient("trilu", [wide], wide.shape, "k = -1 : i64, upper = false")
gradient("iota", [doubles(), doubles(seed=1)], (2, 4),
         f"{ints('shape', (2, 4))}, axis = 1 : i64")


def slice_of(x, starts, sizes, steps):
    gradient("slice", [x], sizes, ", ".join(
        ints(*part) for part in (("starts", starts), ("sizes", sizes),
                                 ("steps", steps))))


slice_of(x, (1, 0), (2, 5), (1, 1))
slice_of(doubles(7, 9), (0, 1), (3, 3), (3, 2))
slice_of(doubles(7, 9), (6, 8), (3, 4), (-2, -1))
slice_of(doubles(7, 9), (3, 0), (1, 9), (-5, 1))
slice_of(x, (0, 5), (3, 0), (1, 1))
gradient("concat", [x, doubles(3, 2, seed=1), doubles(3, 1)], (3, 8),
         "axis = -1 : si64")
gradient("concat", [x, x], (6, 5), "axis = 0 : si64")
for mode in ("constant", "edge", "reflect", "wrap"):
    for low, high, shape in (((1, 2), (0, 3), (4, 10)), ((0, -2), (2, 1), (5, 4)),
                             ((-1, -2), (0, -1), (2, 2)), ((7, 0), (6, 0), (16, 5))):
        operands = [x, doubles()] if mode == "constant" else [x]
        gradient("pad", operands, shape, f'{ints("low", low)}, '
                 f'{ints("high", high)}, mode = "{mode}"')
gradient("pad", [x], (4, 5), f'{ints("low", (1, 0))}, {ints("high", (0, 0))}')

numbers = np.random.default_rng(3)
for size, picked, axis in ((6, (4,), 0), (6, (3, 5), 1), (3, (40,), 0),
                           (5, (64,), -1), (7, (), 1), (300, (33,), 0)):
    before, after = (2,), (3,)
    shape = {0: (size, 3), 1: (2, size, 3), -1: (2, size)}[axis]
    place = axis % len(shape)
    indices = numbers.integers(-size, size, picked)
    result = shape[:place] + picked + shape[place + 1:]
    gradient("gather", [doubles(*shape), indices], result,
             f"axis = {axis} : si64")
# Those out of range are clamped.
gradient("gather", [doubles(9, 2), np.array([8, 9, -10, 2 ** 40, 8])], (5, 2))
gradient("gather", [doubles(9, 2), np.array([8, 2, 8], np.int32)], (3, 2))
gradient("gather", [doubles(9, 2).astype(np.float16), np.array([8, 2, 8])],
         (3, 2))
gradient("gather", [doubles(9, 2), np.zeros((0,), np.int64)], (0, 2))
for axis in (0, 1, -1):
    indices = numbers.integers(-3, 3, (3, 4, 2))
    gradient("gather_elements", [doubles(3, 4, 3), indices], indices.shape,
             f"axis = {axis} : si64")
gradient("gather_elements", [x, np.array([[7, -9, 0]])], (1, 3),
         "axis = 1 : si64")
for reduction in ("none", "add", "mul", "max", "min"):
    for axis, picked in ((0, (4, 5)), (1, (2, 7))):
        indices = numbers.integers(-7, 7, picked)  # Some are out of range.
        gradient("scatter_elements",
                 [x, indices, doubles(*picked, seed=9)], x.shape,
                 f'axis = {axis} : si64, reduction = "{reduction}"')
zeros = doubles(4, 6)
zeros[0] = zeros[1, 2:4] = 0
gradient("scatter_elements",
         [zeros, np.array([[0, 1, 2, 3, 1, 1]]), np.array([[2., 0, 0, 3, 1, 5]])],
         zeros.shape, 'axis = 0 : si64, reduction = "mul"')

for kind in ("sum", "prod", "max", "min"):
    for axes, shape in (((0,), (1, 3, 5)), ((0, 2), (1, 3, 1)), ((), (2, 3, 5)),
                        ((0, 1, 2), (1, 1, 1))):
        gradient("reduce", [wide], shape,
                 f"kind = #nn<combiner {kind}>, {ints('axes', axes)}")
gradient("reduce", [zeros], (1, 6),
         f"kind = #nn<combiner prod>, {ints('axes', (0,))}")
gradient("reduce_mean", [wide], (2, 1, 1), ints("axes", (1, 2)))
gradient("reduce_mean", [wide.astype(np.float16)], (2, 1, 1),
         ints("axes", (1, 2)))
for flags in ("", ", exclusive", ", reverse", ", exclusive, reverse"):
    for axis in (-1, 0):
        at = f"axis = {axis} : si64{flags}"
        gradient("cum_sum", [x], x.shape, at)
        gradient("cum_prod", [x], x.shape, at)
        gradient("cum_prod", [zeros], zeros.shape, at)
    gradient("cum_prod", [wide[:, :1]], (2, 1, 5), f"axis = 1 : si64{flags}")
    gradient("cum_prod", [x.astype(np.float16)], x.shape, f"axis = 1 : si64{flags}")
run()
