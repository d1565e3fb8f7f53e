"""Links sixteen models into one program and runs them at once.

    many.py FOLDER LIB ARCHS DEVICE LINK_FLAGS...

Each is compiled for several processors, as an object and as a shared library,
and the first, or all where DEVICE is a GPU, also for ARCHS, unless these are
"none". Their kernels have equal names and compute different things. A model
exports only the symbol by which a program refers to it.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER, LIB = map(pathlib.Path, sys.argv[1:3])
MORE_ARCHS, DEVICE, LINK_FLAGS = sys.argv[3], sys.argv[4], sys.argv[5:]
ARCHS = "-march=x86-64,x86-64-v3"
SOURCE = pathlib.Path(__file__).parent
OPERATORS = {
    "Relu": lambda x: np.maximum(x, 0), "Neg": np.negative, "Abs": np.abs,
    "Exp": np.exp, "Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x))}
NAMES = [f"m{i}" for i in range(16)]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}"
                 f"{done.stderr}")
    return done.stdout


def make(index, x):
    """Writes y = f((x x + c) · w + b) and returns y; all but x differs per model."""
    random = np.random.default_rng(index)
    w = random.uniform(-1, 1, (8, 6)).astype(np.float32)
    b = random.uniform(-1, 1, 6).astype(np.float32)
    c = random.uniform(-1, 1, 8).astype(np.float32)
    operator = list(OPERATORS)[index % len(OPERATORS)]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "x"], ["q"]),
         helper.make_node("Add", ["q", "c"], ["r"]),
         helper.make_node("MatMul", ["r", "w"], ["h"]),
         helper.make_node("Add", ["h", "b"], ["s"]),
         helper.make_node(operator, ["s"], ["y"])], "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 6])],
        [numpy_helper.from_array(v, n) for n, v in
         {"w": w, "b": b, "c": c}.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)]),
        FOLDER / f"{NAMES[index]}.onnx")
    return OPERATORS[operator]((x * x + c) @ w + b)


def compile_(name):
    model, path = FOLDER / f"{name}.onnx", FOLDER / name
    archs = ARCHS
    if MORE_ARCHS != "none" and (name == NAMES[0] or DEVICE != "cpu"):
        archs += "," + MORE_ARCHS
    run("fritc", model, archs, "-c", "-o", f"{path}.o")
    run("fritc", model, archs, "-o", f"{path}.so")


def array(values):
    return "{" + ", ".join(f"{v:.9e}f" for v in values.ravel()) + "}"


def symbols(*command):
    return sorted(line.split()[-1] for line in run("nm", *command).splitlines())


x = np.random.default_rng(99).uniform(-1, 1, (4, 8)).astype(np.float32)
expected = [make(i, x) for i in range(len(NAMES))]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(compile_, NAMES))
lines = [f'#include "{name}.h"' for name in NAMES]
lines += [f"enum {{ MODELS = {len(NAMES)}, OUTPUTS = {expected[0].size} }};",
          f"static const float input[] = {array(x)};",
          "static const struct model { const char *name; "
          "const frit_image *image; float expected[OUTPUTS]; } models[] = {"]
lines += [f'{{"{name}", &{name}_image, {array(y)}}},'
          for name, y in zip(NAMES, expected)]
(FOLDER / "models.h").write_text("\n".join(lines) + "\n};\n")

for name in NAMES:
    path = FOLDER / name
    assert symbols("-g", "--defined-only", f"{path}.o") == [f"{name}_image"]
    shown = symbols("-D", "--defined-only", f"{path}.so")
    assert shown == ["frit_model_image", f"{name}_image"], shown

# Only code for other processors may use their registers.
code = run("objdump", "-d", "--no-show-raw-insn", FOLDER / "m0.o")
kernels = re.findall(r"<frit_x86_64_(v3_)?\w+>:\n(.*?)(?:\n\n|$)", code, re.S)
wide = {bool(v3): False for v3, _ in kernels}
for v3, body in kernels:
    wide[bool(v3)] |= "%ymm" in body
assert wide == {False: False, True: True}, wide

build = ["cc", f"-I{SOURCE.parents[2] / 'runtime/include'}", f"-I{FOLDER}",
         SOURCE / "many.c"]
libraries = [f"-L{LIB}", "-lfrit_runtime", "-lstdc++", "-lm", *LINK_FLAGS]
for kind in ("o", "so"):
    models = [FOLDER / f"{name}.{kind}" for name in NAMES]
    run(*build, *models, *libraries, "-o", FOLDER / f"many-{kind}")
    print(f"linked, .{kind}:", run(FOLDER / f"many-{kind}", DEVICE).strip())
print("loaded:", run(FOLDER / "many-o", DEVICE, FOLDER).strip())
