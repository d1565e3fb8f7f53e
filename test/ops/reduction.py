# RUN: %python %s
"""Reductions."""
import numpy as np

from harness import case, ints, random, run

KINDS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def check(kind, x, axes):
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    y = KINDS[kind](wide, axis=tuple(axes), keepdims=True).astype(x.dtype)
    case("reduce", [x], y, f"kind = #nn<combiner {kind}>, {ints('axes', axes)}")


x = random(3, 4, 5)
u = np.arange(130, 154, dtype=np.uint8).reshape(4, 6)
for kind in KINDS:
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2), ()):
        check(kind, x, axes)
    check(kind, x.astype(np.float16), (1, 2))
    check(kind, x.astype(np.float64), (1,))
    check(kind, (x * 3).astype(np.int32), (0,))
check("max", u, (1,))
check("min", u, (0,))
check("sum", u, (1,))
check("max", (x * 3).astype(np.int8), (0, 1))
check("sum", np.zeros((2, 0), np.float32), (1,))
check("prod", np.zeros((2, 0), np.float32), (1,))
nan = np.array([[1, np.nan, 2]], np.float32)
check("max", nan, (1,))
case("reduce", [np.zeros((2, 0), np.float32)],
     np.full((2, 1), -np.inf, np.float32),
     "kind = #nn<combiner max>, axes = array<i64: 1>")
# f16 is reduced in f32: 4096 ones give 4096, not 2048.
check("sum", np.ones((1, 4096), np.float16), (1,))

for axes in ((1,), (0, 2), (0, 1, 2)):
    y = np.mean(x.astype(np.float64), axis=axes, keepdims=True)
    case("reduce_mean", [x], y.astype(np.float32), ints("axes", axes))
high = np.full((1, 8), 40000, np.float16)
case("reduce_mean", [high], high[:, :1], ints("axes", (1,)))
case("reduce_mean", [np.array([[7, 8]], np.int32)], np.array([[7]], np.int32),
     ints("axes", (1,)))

ties = np.array([[1, 3, 3, 0, 0], [2, 2, 2, 2, 2]], np.int32)
strange = np.array([[1, np.nan, 3, np.nan], [np.inf, -np.inf, 1, 2]], "f4")
for v in (x, ties, strange, x.astype(np.float16), u):
    for axis in (0, -1):
        for op, find in (("arg_max", np.argmax), ("arg_min", np.argmin)):
            y = find(v, axis)
            case(op, [v], np.expand_dims(y, axis), f"axis = {axis} : si64")
            case(op, [v], y, f"axis = {axis} : si64, keepdims = 0 : si64")
            back = v.shape[axis] - 1 - find(np.flip(v, axis), axis)
            case(op, [v], back, f"axis = {axis} : si64, keepdims = 0 : si64, "
                 "select_last_index = 1 : si64")

# A long line is reduced in parts: ties, and numbers that are none, in several.
line = np.round(random(2, 8400) * 3)
holes = line.copy()
holes[0, [5000, 7000]] = np.nan
for v in (line, holes, line.astype(np.float16), line.astype(np.int32), line[:, :8209]):
    for op, find in (("arg_max", np.argmax), ("arg_min", np.argmin)):
        case(op, [v], find(v, 1), "axis = 1 : si64, keepdims = 0 : si64")
        back = v.shape[1] - 1 - find(np.flip(v, 1), 1)
        case(op, [v], back, "axis = 1 : si64, keepdims = 0 : si64, select_last_index = 1 : si64")

for v in (x, x.astype(np.float16), (x * 9).astype(np.int64)):
    for axis in (0, -1):
        sums = np.cumsum(v, axis, dtype=np.float64 if v is not x else None)
        back = np.flip(np.cumsum(np.flip(v, axis).astype("f8"), axis), axis)
        at = f"axis = {axis} : si64"
        case("cum_sum", [v], sums.astype(v.dtype), at)
        case("cum_sum", [v], (sums - v).astype(v.dtype), at + ", exclusive")
        case("cum_sum", [v], back.astype(v.dtype), at + ", reverse")
        case("cum_sum", [v], (back - v).astype(v.dtype),
             at + ", exclusive, reverse")

for v in (x, np.array([[1, 2, 3], [4, 0, 6]], np.int32)):
    wide = v.astype(np.float64)
    one = np.ones_like(wide[:, :1])
    up, down = np.cumprod(wide, 1), np.cumprod(wide[:, ::-1], 1)[:, ::-1]
    for attribute, y in (("", up), (", reverse", down),
                         (", exclusive", np.hstack([one, up[:, :-1]])),
                         (", exclusive, reverse",
                          np.hstack([down[:, 1:], one]))):
        case("cum_prod", [v], y.astype(v.dtype), "axis = 1 : si64" + attribute)
run()
