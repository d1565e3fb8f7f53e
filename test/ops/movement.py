# RUN: %python %s
"""Operators that move elements."""
import numpy as np

from harness import case, ints, random, run

x = random(2, 3, 4)
h = x.astype(np.float16)
u = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
flags = u % 3 == 0

for v in (x, h, u, flags):
    case("transpose", [v], v.transpose(2, 0, 1), ints("perm", (2, 0, 1)))
case("transpose", [np.float32(2)], np.float32(2), ints("perm", ()))
case("reshape", [x], x.reshape(4, 6), ints("shape", (4, 6)))
case("reshape", [x], x.reshape(6, 4), ints("shape", (6, 4)))
case("reshape", [x[:1, :1, :1]], x[0, 0, 0], ints("shape", ()))
case("reshape", [x[0, 0, 0]], x[:1, :1, 0], ints("shape", (1, 1)))
case("reshape", [np.zeros((0, 3), np.float32)],
     np.zeros((2, 0, 5), np.float32), ints("shape", (2, 0, 5)))

case("expand", [x[:, :1]], np.broadcast_to(x[:, :1], (5, 2, 3, 4)),
     ints("shape", (5, 2, 3, 4)))
case("expand", [x], x, ints("shape", (1, 1, 4)))
case("expand", [np.uint8(9)], np.full((2, 2), 9, np.uint8),
     ints("shape", (2, 2)))


def slice_case(v, starts, sizes, steps):
    places = [s + np.arange(n) * t for s, n, t in zip(starts, sizes, steps)]
    case("slice", [v], v[np.ix_(*places)], ", ".join(
        [ints("starts", starts), ints("sizes", sizes), ints("steps", steps)]))


slice_case(x, (0, 1, 0), (2, 2, 4), (1, 1, 1))
slice_case(x, (0, 0, 0), (2, 2, 3), (1, 1, 1))
slice_case(x, (1, 2, 3), (1, 3, 2), (1, -1, -2))
slice_case(random(90, 3, 2, 24), (0, 1, 1, 0), (90, 2, 2, 24), (1, 1, -1, 1))
slice_case(h, (0, 0, 1), (2, 2, 2), (1, 2, 2))
slice_case(x, (0, 0, 0), (2, 0, 4), (1, 1, 1))
slice_case(u, (1, 1, 1), (1, 1, 1), (1, 1, 1))

for axis in (0, 1, -1):
    parts = [x, x.take([0], axis), x.take([1, 0], axis)]
    case("concat", parts, np.concatenate(parts, axis), f"axis = {axis} : si64")
empty = np.zeros((2, 0, 4), np.float32)
case("concat", [x, empty, x], np.concatenate([x, x], 1), "axis = 1 : si64")
case("concat", [flags, flags], np.concatenate([flags, flags], 2),
     "axis = 2 : si64")


def pad_case(v, low, high, mode, value=None):
    crop = tuple(slice(max(-a, 0), n - max(-b, 0))
                 for a, b, n in zip(low, high, v.shape))
    widths = [(max(a, 0), max(b, 0)) for a, b in zip(low, high)]
    extra = {"constant_values": value or 0} if mode == "constant" else {}
    inputs = [v] if value is None else [v, np.array(value, v.dtype)]
    case("pad", inputs, np.pad(v[crop], widths, mode, **extra), ", ".join(
        [ints("low", low), ints("high", high), f'mode = "{mode}"']))


pad_case(x, (0, 1, 2), (1, 0, 3), "constant")
pad_case(x, (0, 1, 2), (1, 0, 3), "constant", 2.5)
pad_case(h, (0, 1, 2), (1, 0, 3), "constant", 2.5)
pad_case(u, (1, 0, -1), (0, -1, 3), "constant", 7)
pad_case(np.zeros((0, 2), np.float32), (2, 0), (1, 1), "constant", 1.5)
pad_case(x, (0, 1, 2), (1, 0, 3), "edge")
pad_case(x, (0, 1, 3), (1, 2, 3), "reflect")
pad_case(x, (2, 4, 9), (2, 5, 8), "reflect")
pad_case(x[:1], (2, 0, 0), (2, 0, 0), "reflect")
pad_case(x, (3, 1, 5), (1, 2, 6), "wrap")

for axis in (0, 1, -1):
    picks = np.array([[0, -1], [1, 0]], np.int64)
    case("gather", [x, picks], x.take(picks, axis), f"axis = {axis} : si64")
case("gather", [x, np.array(1, np.int32)], x[1])
case("gather", [u, np.array([9, -9], np.int32)], u[[1, 0]])
case("gather", [x, np.zeros((0, 2), np.int64)], np.zeros((0, 2, 3, 4), "f4"))
for v, axis in ((x, 1), (u, 2), (x, -3)):
    picks = np.random.default_rng(1).integers(
        -v.shape[axis], v.shape[axis], (2, 2, 3))
    case("gather_elements", [v, picks],
         np.take_along_axis(v[:2, :2, :3] if axis == -3 else
                            v[:2, :, :3] if axis == 1 else v[:2, :2],
                            picks % v.shape[axis], axis),
         f"axis = {axis} : si64")


def iota_case(dtype, start, step, shape, axis):
    line = (start + step * np.arange(shape[axis])).astype(dtype)
    line = line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    case("iota", [np.array(start, dtype), np.array(step, dtype)],
         np.broadcast_to(line, shape),
         f"{ints('shape', shape)}, axis = {axis} : i64")


iota_case(np.int64, 3, -2, (5,), 0)
iota_case(np.float32, 0.5, 0.25, (2, 4), 1)
iota_case(np.float16, 1, 2, (3, 2), 0)
iota_case(np.uint8, 250, 1, (4,), 0)

for k in (-1, 0, 2):
    case("trilu", [x], np.triu(x, k), f"k = {k} : i64, upper = true")
    case("trilu", [x], np.tril(x, k), f"k = {k} : i64, upper = false")
case("trilu", [flags], np.tril(flags), "k = 0 : i64, upper = false")


def update(state, value, offset, axis):
    """Replaces rows of the state; those outside are dropped."""
    y = state.copy()
    for b in range(len(state)):
        first = offset if np.ndim(offset) == 0 else offset[b]
        for i in range(value.shape[axis]):
            if 0 <= first + i < state.shape[axis]:
                y[b].swapaxes(0, axis - 1)[first + i] = value[b].swapaxes(0, axis - 1)[i]
    return y


for v in (x, h, u, flags):
    case("update", [v, v[::-1].copy()], v[::-1])
    for axis in (1, 2):
        row = v[::-1, :2, :2]
        row = row.repeat(2, 2) if axis == 1 else row[:, [0, 1, 1]]
        for places in ([0, 1], [2, -1], [9, -9]):
            case("update", [v, row, np.array(places)], update(v, row, places, axis),
                 f"axis = {axis} : i64")
            case("update", [v, row, np.int32(places[0])], update(v, row, places[0], axis),
                 f"axis = {axis} : i64")

run()
