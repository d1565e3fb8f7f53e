"""What tests of kernels for several processors share: element types, what a processor
needs for an -march, and calls of programs."""
import subprocess

import ml_dtypes
import numpy as np

TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
NEEDS = {"x86-64": [], "x86-64-v3": ["avx2", "fma", "f16c"],
         "x86-64-v4": ["avx512f", "avx512bw", "avx512vl", "avx512dq"]}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
