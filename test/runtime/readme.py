"""Follows runtime/linking.md's instructions for linking models into programs.

    readme.py SOURCE FOLDER PREFIX MODELS LINK_FLAGS...

PREFIX is where frit is installed. The pages' C program, CMake file, graph
and commands are used as they are, except for paths.
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

PAGES = "".join((pathlib.Path(sys.argv[1]) / page).read_text()
                for page in ("runtime/linking.md", "compiler/json/README.md"))
FOLDER, PREFIX, MODELS = map(pathlib.Path, sys.argv[2:5])
LINK_FLAGS = " ".join(sys.argv[5:])


def block(language, start):
    """The pages' code block in this language that begins with `start`."""
    return next(text for name, text in
                re.findall(r"^```(\w*)\n(.*?)^```", PAGES, re.M | re.S)
                if name == language and text.startswith(start))


def run(command):
    done = subprocess.run(f"export PATH={PREFIX}/bin:$PATH; {command}",
                          shell=True, cwd=FOLDER, capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}"
                 f"{done.stderr}")
    return done.stdout.strip()


shutil.copy(MODELS / "digits.onnx", FOLDER)
(FOLDER / "app.c").write_text(block("c", '#include "digits.h"'))
run("fritc -c digits.onnx -march=x86-64 -o digits.o")
run(f"export PKG_CONFIG_PATH={PREFIX}/lib/pkgconfig; "
    f"{block('sh', 'cc app.c').strip()} {LINK_FLAGS}")
print("pkg-config:", run("./app"))

# CUDA code needs NVRTC, which may be missing.
cmake = block("cmake", "cmake_minimum_required").replace(",sm_90a", "")
(FOLDER / "CMakeLists.txt").write_text(
    cmake.replace("-ftype", "-march=x86-64 -ftype"))
run(f"cmake -S . -B cmake -G Ninja -DCMAKE_PREFIX_PATH={PREFIX} "
    f"'-DCMAKE_EXE_LINKER_FLAGS={LINK_FLAGS}'")
run("cmake --build cmake")
print("CMake:", run("cmake/app"))

(FOLDER / "mlp.json").write_text(block("json", '{"frit": 1'))
x = np.linspace(-1, 1, 8 * 784, dtype=np.float32).reshape(8, 784)
w = np.linspace(1, -1, 784 * 4, dtype=np.float32).reshape(784, 4)
head = json.dumps({"w": {"dtype": "F32", "shape": w.shape,
                         "data_offsets": [0, w.nbytes]}}).encode()
(FOLDER / "mlp.safetensors").write_bytes(
    struct.pack("<Q", len(head)) + head + w.tobytes())
np.save(FOLDER / "x.npy", x)
np.savez(FOLDER / "y.npz", y=(x @ w).max(axis=1, keepdims=True))
run(block("sh", "fritc mlp.json").strip() + " -march=x86-64")
run("frit-run mlp.so --input=@x.npy --compare=y.npz --rtol=1e-4 --atol=1e-3")
print("JSON: computed")
