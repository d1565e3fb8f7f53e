"""Inputs that stay between calls, and rows written into them: states.py WORK

Appends rows to caches of every form, at places that calls choose, inside and partly or wholly
outside, and compares the caches and what is computed of them with NumPy after each of several
calls. Then states take each other's values. The CUDA text runs on the emulator.
"""
import json
import pathlib
import re
import subprocess
import sys
import time

import frit
import numpy as np

EMULATOR = pathlib.Path(__file__).resolve().parents[2] / "emulator" / "model.sh"
work = pathlib.Path(sys.argv[1])
work.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)
FAR = 2**62


def update(cache, rows, places, axis):
    """What nn.update computes."""
    result = cache.copy()
    each = np.broadcast_to(places, cache.shape[:1])
    for b in range(cache.shape[0]):
        for i in range(rows.shape[axis]):
            at = int(each[b]) + i
            if axis == 0:
                if b == 0 and 0 <= at < cache.shape[0]:
                    result[at] = rows[i]
            elif 0 <= at < cache.shape[axis]:
                to, source = [slice(None)] * cache.ndim, [slice(None)] * cache.ndim
                to[0], source[0], to[axis], source[axis] = b, b, at, i
                result[tuple(to)] = rows[tuple(source)]
    return result


def check(name, cache, rows, axis, offset_shape, kind, dtype="f32", batches=()):
    """Doubles rows, appends them and sums the cache over `axis`."""
    sum_op = {"op": "reduce", "inputs": ["next"], "outputs": ["sum"],
              "attributes": {"kind": "sum", "axes": [axis]}}
    graph = {
        "frit": 1,
        "inputs": [{"name": "cache", "type": dtype, "shape": list(cache)},
                   {"name": "rows", "type": dtype, "shape": list(rows)},
                   {"name": "at", "type": kind, "shape": list(offset_shape)}],
        "nodes": [
            {"op": "add", "inputs": ["rows", "rows"], "outputs": ["twice"]},
            {"op": "update", "inputs": ["cache", "twice", "at"], "outputs": ["next"],
             "attributes": {"axis": axis}}, sum_op],
        "outputs": ["next", "sum"]}
    path = work / f"{name}.json"
    path.write_text(json.dumps(graph))
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", path, "-march=x86-64-v3", "-fstate=cache:next", "-o", artifact],
                   check=True)
    module = frit.load(artifact, device="cpu", threads=2)
    numpy = {"f32": np.float32, "f16": np.float16, "i32": np.int32}[dtype]
    expected = np.zeros(cache, numpy)
    for places in batches:
        values = rng.integers(-9, 9, rows).astype(numpy)
        at = np.broadcast_to(np.array(places, kind.replace("i", "int")), offset_shape).copy()
        got = module(rows=values, at=at)
        expected = update(expected, values * 2, at, axis)
        total = expected.sum(axis, keepdims=True, dtype=expected.dtype)
        assert np.array_equal(module.read_state("cache")["cache"], expected), (name, places)
        assert np.array_equal(got, total), (name, places)
    # A program may set the state, too: rewind, or continue elsewhere.
    module.write_state(cache=np.zeros(cache, numpy))
    module(rows=values, at=at)
    assert np.array_equal(module.read_state("cache")["cache"],
                          update(np.zeros(cache, numpy), values * 2, at, axis)), name
    emulate(path, "-fstate=cache:next")
    print("ok", name)


def check_cost():
    """Writing a row costs that row, however large the state is: calls take as long for
    256 MiB as for 256 KiB, and the same blocks of kernels run on a GPU."""
    times, grids = [], []
    for length in (64, 65536):
        graph = {
            "frit": 1,
            "inputs": [{"name": "cache", "type": "f32", "shape": [1, length, 1024]},
                       {"name": "row", "type": "f32", "shape": [1, 1, 1024]},
                       {"name": "at", "type": "i64", "shape": [1]}],
            "nodes": [
                {"op": "add", "inputs": ["row", "row"], "outputs": ["twice"]},
                {"op": "update", "inputs": ["cache", "twice", "at"], "outputs": ["next"],
                 "attributes": {"axis": 1}}],
            "outputs": ["next", "twice"]}
        path, artifact = work / f"cost-{length}.json", work / f"cost-{length}.so"
        path.write_text(json.dumps(graph))
        state = "-fstate=cache:next"
        subprocess.run(["fritc", path, "-march=x86-64-v3", state, "-o", artifact], check=True)
        module = frit.load(artifact, device="cpu", threads=1)
        row, taken = np.ones((1, 1, 1024), np.float32), []
        for place in range(50):
            start = time.perf_counter()
            module(row=row, at=np.array([place], np.int64))
            taken.append(time.perf_counter() - start)
        times.append(min(taken))
        plan = subprocess.run(["fritc", path, "-march=sm_90a", state, "--emit=plan", "-o", "-"],
                              check=True, capture_output=True, text=True).stdout
        grids.append(re.findall(r"(?:block|grid) = array<i64: [\d, ]+>", plan))
    # Copying 256 MiB takes 10 ms and more.
    assert times[1] < times[0] + 1e-3, times
    assert grids[0] and grids[0] == grids[1], grids
    print("ok cost")


def emulate(path, *flags):
    """Compares the emulated CUDA text with the cpu target."""
    bin_folder = pathlib.Path(subprocess.run(["which", "fritc"], capture_output=True,
                                             text=True, check=True).stdout).parent
    subprocess.run(["bash", EMULATOR, bin_folder, sys.executable, path, "1e-3", *flags],
                   check=True, stdout=subprocess.DEVNULL)


def exchange():
    """Four states: a cycle of three, one of which is negated on the way, and one that keeps
    an old value. An output is a value before the call."""
    names = ["a", "b", "c", "d"]
    f32 = {"type": "f32", "shape": [2, 3]}

    def replace(state, value):
        return {"op": "update", "inputs": [state, value], "outputs": [f"next_{state}"]}

    graph = {
        "frit": 1,
        "inputs": [{"name": name, **f32} for name in [*names, "x"]],
        "nodes": [replace("a", "b"),
                  {"op": "neg", "inputs": ["c"], "outputs": ["minus"]},
                  replace("b", "minus"), replace("c", "a"), replace("d", "c"),
                  {"op": "add", "inputs": ["a", "x"], "outputs": ["y"]}],
        "outputs": [*(f"next_{name}" for name in names), "y"]}
    path = work / "exchange.json"
    path.write_text(json.dumps(graph))
    flags = [f"-fstate={name}:next_{name}" for name in names]
    subprocess.run(["fritc", path, "-march=x86-64-v3", *flags, "-o", work / "exchange.so"],
                   check=True)
    module = frit.load(work / "exchange.so", device="cpu", threads=2)
    states = {name: rng.integers(-9, 9, (2, 3)).astype(np.float32) for name in names}
    module.write_state(**states)
    for _ in range(4):
        x = rng.integers(-9, 9, (2, 3)).astype(np.float32)
        assert np.array_equal(module(x=x), states["a"] + x)
        states = {"a": states["b"], "b": -states["c"], "c": states["a"], "d": states["c"]}
        now = module.read_state(*names)
        for name in names:
            assert np.array_equal(now[name], states[name]), name
    emulate(path, *flags)
    print("ok exchange")


check("heads", (2, 3, 8, 4), (2, 3, 2, 4), 2, (2,), "i64",
      batches=[(0, 5), (2, 7), (-1, 8), (FAR, -FAR), (6, 6)])
check("one-token", (1, 2, 16, 64), (1, 2, 1, 64), 2, (1,), "i32", "f16",
      batches=[0, 1, 2, 15, 16, -1])
check("shared-place", (4, 6, 3), (4, 2, 3), 1, (), "i32", batches=[0, 3, 5, -1, 2**31 - 1])
check("rows-of-numbers", (3, 9), (3, 1), 1, (3,), "i64", "i32", batches=[(0, 4, 8), (9, -1, 3)])
check("no-batch", (7, 5), (2, 5), 0, (), "i64", batches=[0, 5, 6, -1, 7])
check("whole", (2, 4, 3), (2, 4, 3), 1, (), "i64", batches=[0, 1, -2])
exchange()
check_cost()
