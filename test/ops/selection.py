# RUN: %python %s
"""Scattering and sorting."""
import numpy as np

from harness import case, random, run

COMBINE = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply,
           "max": np.maximum, "min": np.minimum}


def scatter(x, indices, updates, axis, reduction):
    y = x.copy()
    for place in np.ndindex(indices.shape):
        to = list(place)
        to[axis] = indices[place]
        if -x.shape[axis] <= to[axis] < x.shape[axis]:
            y[tuple(to)] = COMBINE[reduction](y[tuple(to)], updates[place])
    return y


def scatter_case(x, indices, updates, axis, reduction="none"):
    indices = np.array(indices)
    case("scatter_elements", [x, indices, updates],
         scatter(x, indices, updates, axis, reduction),
         f'axis = {axis} : si64, reduction = "{reduction}"')


x = random(3, 4)
picks = [[0, 2, 0], [-1, 1, 5]]
for dtype in (np.float32, np.float16, np.int32, np.uint8):
    v, u = x.astype(dtype), random(2, 3, seed=3, low=0).astype(dtype)
    scatter_case(v, picks, u, 0)
    scatter_case(v, picks, u, -1)
    for reduction in ("add", "mul", "max", "min"):
        scatter_case(v, picks, u, 1, reduction)
scatter_case(np.zeros(5, bool), [1, 1, 3], np.array([True, False, True]), 0)
scatter_case(x[0], np.zeros(0, np.int64), np.zeros(0, np.float32), 0)
# Large enough for several calls, which must not undo each other's work.
large = random(2, 16, 8, 4)
scatter_case(large, np.random.default_rng(5).integers(-16, 16, large.shape),
             random(*large.shape, seed=6), 1, "add")

ties = np.array([[3, 1, 3, 2, 1], [0, 0, 0, 0, 0]], np.int64)
for v in (x, x.astype(np.float16), ties, ties.astype(np.uint64)):
    for axis in (0, 1):
        for down in (False, True):
            wide = -v.astype(np.float64) if down else v
            order = np.argsort(wide, axis, kind="stable")
            case("sort_places", [v], np.argsort(order, axis, kind="stable"),
                 f"axis = {axis} : si64" + (", descending" if down else ""))
# NaN is the largest, and the places are a permutation.
nan = np.nan
nans = np.array([nan, 1, nan, 2], np.float32)
case("sort_places", [nans], np.array([2, 0, 3, 1]), "axis = 0 : si64")
case("sort_places", [nans], np.array([0, 3, 1, 2]),
     "axis = 0 : si64, descending")

# Two sorted halves; equal elements of the first come first.
for size in (1, 2, 7, 32):
    for v in (random(3, 2, size), np.floor(random(3, 2, size) * 2),
              np.floor(random(3, 2, size) * 2).astype(np.int64)):
        for down in (False, True):
            halves = np.sort(v) if not down else -np.sort(-v)
            flat = halves.reshape(3, -1)
            order = np.argsort(-flat if down else flat, 1, kind="stable")
            for count in {2 * size, size}:
                case("merge_places", [flat], order[:, :count],
                     f"count = {count}" + (", descending" if down else ""))
inf = np.inf
case("merge_places", [np.array([1, nan, 2, nan], np.float32)],
     np.array([0, 2, 1, 3]), "count = 4")
case("merge_places", [np.array([nan, 1, nan, inf], np.float32)],
     np.array([0, 2, 3, 1]), "count = 4, descending")
for size in (1, 5, 64):
    for dtype in (np.float32, np.float16, np.int64, np.uint8):
        rows = np.sort(np.floor(random(2, size, low=0) * 9).astype(dtype))
        values = np.floor(random(2, 11, low=0) * 10).astype(dtype)
        case("search_sorted", [rows, values],
             np.array([np.searchsorted(r, v, "right")
                       for r, v in zip(rows, values)]))
case("search_sorted", [np.array([1, nan, nan], np.float32),
                       np.array([0, 1, inf, nan], np.float32)],
     np.array([0, 1, 1, 3]))


def kept_bits(alive, takes_out):
    """Greedy suppression: each kept candidate suppresses others."""
    left = int(alive) & (1 << 64) - 1
    for i, others in enumerate(takes_out):
        if left >> i & 1:
            left &= ~int(others)
    return np.array(left & (1 << 64) - 1, np.uint64).astype(np.int64)


generator = np.random.default_rng(5)
for size in (1, 7, 64):
    alive = generator.integers(-2**63, 2**63 - 1, 5)
    # Each suppresses some of the later ones.
    takes = np.zeros((5, size), np.int64)
    for i in range(size):
        behind = np.int64(-1) << np.int64(i + 1) if i < 63 else np.int64(0)
        takes[:, i] = (generator.integers(-2**63, 2**63 - 1, 5) &
                       generator.integers(-2**63, 2**63 - 1, 5) & behind)
    case("keep_bits", [alive, takes],
         np.array([kept_bits(a, t) for a, t in zip(alive, takes)]))
run()
