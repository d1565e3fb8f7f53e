"""Prefix sums, sorting and scattering along dimensions too long for the direct
algorithms.

    order.py WORK
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = helper.make_opsetid("", 21)


def run(work, op, x, extra, outputs, updates=None, known=True, **attributes):
    """The operator's results on the cpu target; `known` says whether `extra` is
    constant. If not, the model computes it, as the runtime refuses inputs that
    are indices out of range."""
    constants, inputs = {}, {"x": x}
    extra, computed = np.array(extra, np.int64), []
    if known:
        constants["e"] = extra
    else:
        inputs |= {"a": extra - 1, "b": np.ones_like(extra)}
        computed = [helper.make_node("Add", ["a", "b"], ["e"])]
    if updates is not None:
        constants["u"] = updates
    names = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [*computed, helper.make_node(
            op, ["x", "e", *(["u"] if updates is not None else [])], names,
            **attributes)], "g",
        [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in names],
        [numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[OPSET], ir_version=10),
              work / "m.onnx")
    for name, array in inputs.items():
        np.save(work / f"{name}.npy", array)
    subprocess.run(["fritc", work / "m.onnx", "-march=x86-64-v3", "-o",
                    work / "m.so"], check=True)
    subprocess.run(["frit-run", work / "m.so",
                    *(f"--input={n}=@{work}/{n}.npy" for n in inputs),
                    f"--output=@{work}/y.npz"], check=True,
                   capture_output=True)
    with np.load(work / "y.npz") as file:
        return [file[name] for name in names]


def check_order(work, x, k, axis, largest):
    values, places = run(work, "TopK", x, [k], 2, axis=axis, largest=largest)
    keys = -x.astype(np.float64) if largest else x
    right = np.argsort(keys, axis=axis, kind="stable")
    right = np.take(right, range(k), axis=axis)
    assert np.array_equal(places, right), (x.shape, x.dtype, k, largest)
    assert np.array_equal(values, np.take_along_axis(x, right, axis=axis),
                          equal_nan=True)


def check_sums(work, x, axis, exclusive, reverse):
    y, = run(work, "CumSum", x, axis, 1, exclusive=exclusive, reverse=reverse)
    turned = np.flip(x, axis) if reverse else x
    right = np.cumsum(turned, axis, dtype=x.dtype)
    if exclusive:
        right = right - turned
    right = np.flip(right, axis) if reverse else right
    assert np.array_equal(y, right), (x.shape, exclusive, reverse)


COMBINE = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply,
           "max": np.maximum, "min": np.minimum}


def check_scatter(work, rng, reduction):
    x = rng.integers(-9, 9, (40, 50, 3)).astype(np.float32)
    # Indices that are data may be out of range and then write nothing; constants may not. Of
    # several updates of an element the last wins.
    indices = rng.integers(-50, 51, (500, 2))
    known = reduction != "none"
    if known:
        indices = np.unique(indices % 40, axis=0)
    updates = rng.integers(-9, 9, (len(indices), 3)).astype(np.float32)
    right = x.copy()
    combine = COMBINE[reduction]
    for (i, j), update in zip(indices, updates):
        if -40 <= i < 40 and -50 <= j < 50:
            right[i, j] = combine(right[i, j], update)
    y, = run(work, "ScatterND", x, indices, 1, updates=updates, known=known,
             reduction=reduction)
    assert np.array_equal(y, right), reduction


def check_sorted_scatter(work, rng, reduction, shape, count, axis):
    """Indices as data, with duplicates and some out of range."""
    size = shape[axis]
    given = [*shape[:axis], count, *shape[axis + 1:]]
    x, updates = (rng.integers(1, 4, s).astype(np.int32)
                  for s in (shape, given))
    places = rng.integers(-size - 1, size // 2, given)
    right, combine = x.copy(), COMBINE[reduction]
    for at in np.ndindex(*given):
        to = list(at)
        to[axis] = places[at]
        if -size <= to[axis] < size:
            right[tuple(to)] = combine(right[tuple(to)], updates[at])
    y, = run(work, "ScatterElements", x, places, 1, updates=updates,
             known=False, axis=axis, reduction=reduction)
    assert np.array_equal(y, right), (reduction, shape, count, axis)
    # The same with whole rows.
    places = rng.integers(-size, size // 2, (count, 1))
    rows = rng.integers(1, 4, (size, 3)).astype(np.int32)
    updates = rng.integers(1, 4, (count, 3)).astype(np.int32)
    right = rows.copy()
    for place, update in zip(places[:, 0], updates):
        right[place] = combine(right[place], update)
    y, = run(work, "ScatterND", rows, places, 1, updates=updates, known=False,
             reduction=reduction)
    assert np.array_equal(y, right), (reduction, "rows")


def main():
    work = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(0)
    # Many equal elements, the type's extreme among them.
    few = rng.integers(0, 9, (2, 3000, 3)).astype(np.float32)
    few[few == 0] = -np.inf
    check_order(work, few, 70, 1, 1)
    check_order(work, few, 3000, 1, 0)
    check_order(work, few, 700, 1, 1)  # more than blocks are reduced to
    few[1, ::7] = np.nan  # which come after all others
    check_order(work, few, 3000, 1, 0)
    check_order(work, np.full(17000, np.nan, np.float32), 17000, 0, 1)
    bytes_ = rng.integers(0, 256, (3, 5000)).astype(np.uint8)
    check_order(work, bytes_, 11, 1, 0)
    wide = rng.integers(-2**63, 2**63 - 1, 20000)
    check_order(work, wide, 2, 0, 1)
    check_order(work, wide % 50, 1000, 0, 1)
    # Long enough to be merged.
    check_order(work, np.minimum(wide, 0), 17000, 0, 0)
    for reduction in ("none", "add", "mul", "max", "min"):
        check_scatter(work, rng, reduction)
        check_sorted_scatter(work, rng, reduction, (2000, 2), 1500, 0)
    check_sorted_scatter(work, rng, "none", (3, 700, 4), 800, 1)
    check_sorted_scatter(work, rng, "add", (2, 3, 1100), 300, 2)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            check_sums(work, rng.integers(0, 99, (2, 9001)), 1, exclusive,
                       reverse)
            check_sums(work, rng.integers(-9, 9, (300, 2)).astype(np.int32), 0,
                       exclusive, reverse)
    print("all agree")


main()
