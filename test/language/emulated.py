"""Compares the CUDA text of a language model's functions with the CPU target, on the host."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

EMULATOR = Path(__file__).resolve().parents[1] / "emulator"


def compile_kernels(path, options, model, kernels):
    """Compiles a model to an artifact, and its kernels for the host."""
    quiet = dict(check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    nvrtc = Path(shutil.which("fritc")).parents[1] / "lib/libemulated_nvrtc.so"
    subprocess.run(["fritc", path, "-march=x86-64,sm_90a", *options, "-o", model], **quiet,
                   env=os.environ | {"FRIT_NVRTC": str(nvrtc)})
    subprocess.run([sys.executable, EMULATOR / "emulate.py", model, "-o", kernels, "--level=1"],
                   **quiet)


def emulate(path, functions, *options, rtol="1e-3"):
    """Returns the artifact, which has the kernels' text."""
    path = Path(path)
    model, kernels = (path.with_name(path.stem + "-emulated" + end)
                      for end in (".so", ".kernels.so"))
    compile_kernels(path, options, model, kernels)
    for function in functions:
        subprocess.run(["emulate_run", model, kernels, f"--rtol={rtol}", f"--function={function}"],
                       check=True, stdout=subprocess.DEVNULL)
    print("ok emulator", *functions)
    return model.read_text(errors="replace")
