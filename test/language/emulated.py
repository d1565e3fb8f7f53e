"""Compares the CUDA text of a language model's functions with the CPU target, on the host."""
import shutil
import subprocess
import sys
from pathlib import Path

EMULATOR = Path(__file__).resolve().parents[1] / "emulator"


def emulate(path, functions, *options, rtol="1e-3"):
    tool = Path(shutil.which("fritc")).parent / "emulate_run"
    path = Path(path)
    model, text, kernels = (path.with_name(path.stem + "-emulated" + end)
                            for end in (".so", ".cu", ".kernels.so"))
    quiet = dict(check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["fritc", path, "-march=x86-64,sm_90a", *options, "-o", model], **quiet)
    subprocess.run(["fritc", "-S", path, "-march=sm_90a", *options, "-o", text], **quiet)
    subprocess.run([sys.executable, EMULATOR / "emulate.py", text, "-o", kernels], **quiet)
    for function in functions:
        subprocess.run([tool, model, kernels, f"--rtol={rtol}", f"--function={function}"],
                       check=True, stdout=subprocess.DEVNULL)
    print("ok emulator", *functions)
