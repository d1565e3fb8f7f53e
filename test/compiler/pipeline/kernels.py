"""Counts the kernels per call of each small model on a GPU:

    kernels.py FOLDER

A line per model: kernels, attention kernels, and kernels that only move
elements, as -Rpass-missed=fusion counts them.
"""
import re
import subprocess
import sys
from pathlib import Path

for model in sorted(Path(sys.argv[1]).glob("*.onnx"), key=lambda m: m.stem):
    command = ["fritc", str(model), "-march=sm_90a", "-fprecision=fp16",
               "-Rpass-missed=fusion", "--emit=fused", "-o", "-"]
    if "dynamic" in model.stem:
        command.append("-fshape=batch=2")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    main = done.stdout.split("func.func @prepare")[0]
    kernels = len(re.findall(r"= nn\.fusion\(", main))
    whole = len(re.findall(r"= nn\.attention ", main))
    copies = done.stderr.count("only moves elements")
    print(f"{model.stem}: {kernels} kernels, {whole} attentions, "
          f"{copies} copies")
