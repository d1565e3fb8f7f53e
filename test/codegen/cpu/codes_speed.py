"""A product by codes is not slower than one by f32 or bf16, at any number of rows: codes_speed.py
WORK. The matrix is larger than caches, as a model's are together. Times are the least of several,
in turn, on one thread, since the machine may have other work."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, ROWS = 4608, (1, 2, 4, 5, 8, 9, 16, 32, 64)
FORMATS = {"f32": [], "bf16": ["-fprecision=bf16"], "int4": ["-fweights=int4"],
           "int8": ["-fweights=int8"], "int4 of bf16": ["-fprecision=bf16", "-fweights=int4"]}
# A slower product is timed again: it has to be slower every time. By codes, 64 rows take up to 1.17 of
# the time by f32. From a cache that has all of bf16's matrix, which 32 MiB hold of 3,072 x 3,072, a row
# by int4 takes 1.36 of the time by bf16.
TRIES, TOLERANCE = 12, 1.25

work = Path(sys.argv[1])


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def artifact(name):
    return work / f"{name.replace(' ', '_')}.so"


def compile_all():
    rng = np.random.default_rng(1)
    w, last = (rng.standard_normal((SIZE, columns)).astype(np.float32) for columns in (SIZE, 8))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("MatMul", ["h", "last"], ["y"])]
    graph = helper.make_graph(
        nodes, "speed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(last, "last")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), work / "m.onnx")
    for name, options in FORMATS.items():
        run("fritc", work / "m.onnx", "-march=native", "-fshape=rows=" + ",".join(map(str, ROWS)),
            *options, "-o", artifact(name))


def time(name, rows):
    said = run("frit-run", artifact(name), f"--shape=rows={rows}", "--bench", "--threads=1",
               "--warmup=5ms", "--duration=60ms", "--json")
    return json.loads(said)["min"]


def check(rows):
    best = {name: time(name, rows) for name in FORMATS}

    def slow():
        wide = min(best["f32"], best["bf16"]) if rows <= 16 else best["f32"]
        return [name for name in FORMATS if "int" in name and best[name] > TOLERANCE * wide]

    for _ in range(TRIES):
        if not slow():
            break
        for name in FORMATS:
            best[name] = min(best[name], time(name, rows))
    text = ", ".join(f"{name} {ms * 1000:.0f}" for name, ms in best.items())
    assert not slow(), f"{rows} rows: {slow()} is slower: {text} us"
    print(f"{rows} rows: {text} us")


compile_all()
for rows in ROWS:
    check(rows)
