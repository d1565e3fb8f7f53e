"""Installs the wheel in FOLDER into an empty environment and uses it.

    wheel.py FOLDER SOURCE [PYTHON...]

With PYTHON, the environments are of these interpreters, one after the other, and
pip fetches NumPy; otherwise NumPy is the one of this interpreter.
"""
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FOLDER, SOURCE = map(Path, sys.argv[1:3])
WORK = FOLDER / "use"
ENVIRONMENT = FOLDER / "environment"

PROGRAM = """
import frit, numpy as np, sys
model = frit.compile("digits.onnx", march="x86-64-v3", device="cpu")
made = model(np.load("digit_3.npy"))
print(f"probability of a three: {made[0, 3]:.2f}")
assert frit.__file__.startswith(sys.prefix), frit.__file__
"""

C_PROGRAM = """
#include "digits.h"
#include <stdio.h>
int main(void) {
  float image[64], probabilities[10];
  FILE *file = fopen("digit_3.npy", "rb");
  frit_module *module;
  frit_context *context;
  frit_tensor x, y;
  if (!file || fseek(file, -256, SEEK_END) || fread(image, 4, 64, file) != 64 ||
      frit_module_open(&digits_image, NULL, &module) ||
      frit_context_create(module, &context) ||
      frit_module_input_tensor(module, 0, image, &x) ||
      frit_module_output_tensor(module, 0, probabilities, &y) ||
      frit_run(context, &x, 1, &y, 1))
    return 1;
  printf("C program: %.2f\\n", probabilities[3]);
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(frit REQUIRED)
add_executable(app app.c)
frit_add_model(app digits.onnx -march=x86-64-v3)
"""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], text=True, cwd=WORK,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def install(wheel, interpreter):
    """Installs the wheel into an empty environment; returns its Python."""
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for name in ("digits.onnx", "digit_3.npy"):
        shutil.copy(SOURCE / "test/models" / name, WORK)
    run(interpreter or sys.executable, "-m", "venv", ENVIRONMENT)
    python = ENVIRONMENT / "bin/python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    if interpreter:
        run(*pip, "numpy")
    else:
        packages, = ENVIRONMENT.glob("lib/python3*/site-packages")
        for name in ("numpy", "numpy.libs", "nvidia"):
            if (place := Path(np.__file__).parent.parent / name).exists():
                (packages / name).symlink_to(place)
    start = time.monotonic()
    run(*pip, "--no-deps", "--no-index", wheel)
    print(f"installed in {time.monotonic() - start:.1f} s")
    return python


def use(python):
    """Uses the package, the tools, and the CMake package."""
    # Nothing of this process's environment, and not activated.
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(WORK)}
    print(run(python, "-c", PROGRAM, env=bare), end="")
    if [*ENVIRONMENT.glob("lib/python3*/site-packages/frit/_native*.so")]:
        run(python, "-c", "import frit._native", env=bare)
        print("has the compiled module")
    for tool in ("fritc", "frit-run", "frit-opt", "frit-reduce", "frit-train",
                 "frit-doctor", "frit-tokenize"):
        assert run(ENVIRONMENT / "bin" / tool, "--version", env=bare).strip(), tool
    # The example that comes with it, and no compiler or linker but its own.
    if subprocess.run([ENVIRONMENT / "bin/fritc", "-fuse-linker", "--version"],
                      capture_output=True).returncode == 0:
        example = ENVIRONMENT / "share/frit/examples"
        run(ENVIRONMENT / "bin/fritc", example / "digits.onnx", "-march=x86-64-v3",
            "-o", "bare.so", env={"PATH": "/nowhere"})
        run(ENVIRONMENT / "bin/frit-run", "bare.so",
            f"--input=@{example}/digit_3.npy", env={"PATH": "/nowhere"})
        print("compiled without a compiler")
    # NVRTC of the environment, although it is not active.
    if [*ENVIRONMENT.glob("lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so*")]:
        run(ENVIRONMENT / "bin/fritc", "digits.onnx", "-march=sm_90a", "-o", "gpu.so",
            env=bare)
        print("compiled for a GPU")
    (WORK / "app.c").write_text(C_PROGRAM)
    (WORK / "CMakeLists.txt").write_text(CMAKE)
    # Found by the environment's bin in PATH, as when it is activated.
    active = {**os.environ, "PATH": f"{ENVIRONMENT}/bin:{os.environ['PATH']}"}
    run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", env=active)
    run("cmake", "--build", "build", env=active)
    print(run("build/app"), end="")


wheel, = FOLDER.glob("frit-*.whl")
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
for interpreter in sys.argv[3:] or [None]:
    installed = install(wheel, interpreter)
    print(run(installed, "--version"), end="")
    use(installed)
