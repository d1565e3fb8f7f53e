"""Checks that fritc's memory has a bound that does not depend on the weights.

    memory.py FOLDER
"""
import pathlib
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])
LIMIT = 24 << 20  # more than a small model takes


def save(name, rows, external):
    """y = gather(w, i) of `rows` rows of 4 KiB."""
    if external:
        with open(FOLDER / f"{name}.data", "wb") as data:
            data.truncate(rows << 12)
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT,
                             dims=[rows, 1024], data_location=1)
        weight.external_data.add(key="location", value=f"{name}.data")
    else:
        weight = numpy_helper.from_array(np.ones((rows, 1024), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["w", "i"], ["y"])], "main",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 1024])],
        [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(model, FOLDER / f"{name}.onnx")
    del model, graph, weight


def peak(name, *flags):
    """Peak resident bytes of a run of fritc."""
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
    return int(subprocess.run(
        [sys.executable, "-c", script, "fritc", FOLDER / f"{name}.onnx",
         "-march=x86-64", "-o", FOLDER / f"{name}.so", *flags],
        check=True, capture_output=True, text=True).stdout)


MANY = 1 << 15  # 128 MiB
save("small", 16, external=True)
save("beside", MANY, external=True)
save("inside", MANY, external=False)
base = peak("small")
for name in ("beside", "inside"):
    more = peak(name) - base
    assert more < LIMIT, f"{name}: {more >> 20} MiB more than a small model"
    assert (FOLDER / f"{name}.so").stat().st_size > MANY << 12
    np.savez(FOLDER / "in.npz", i=np.array([3, MANY - 1]))
    value = 0 if name == "beside" else 1
    np.savez(FOLDER / "out.npz", y=np.full((2, 1024), value, np.float32))
    subprocess.run(
        ["frit-run", FOLDER / f"{name}.so", f"--input=@{FOLDER / 'in.npz'}",
         f"--compare={FOLDER / 'out.npz'}"], check=True)
    (FOLDER / f"{name}.so").unlink()
    (FOLDER / f"{name}.onnx").unlink()
