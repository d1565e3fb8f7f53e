"""Caches of 8 bits: coded_caches.py WORK. Logits are close to those with caches of f32, whatever the
chunks, and sessions are as others."""
import subprocess
import sys
from pathlib import Path

import numpy as np

import folders
from emulated import emulate
from generate import Generator
from reference import Decoder

CONTEXT, COUNT = 96, 40
# The relative error of logits: 1/254 of a row's largest number, or 1/16 of each number.
FORMATS = {"int8": 0.02, "fp8": 0.08}

work = Path(sys.argv[1])
for name in sys.argv[2:]:
    folder = folders.make(work, name)
    rng = np.random.default_rng(5)
    prompt = rng.integers(0, 61, 19).tolist()
    expected = Decoder(folder, CONTEXT).logits(prompt)
    for cache, most in FORMATS.items():
        artifact = work / f"{name}_{cache}.so"
        told = subprocess.run(
            ["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}", "-fshape=chunk=1,8",
             f"-fcache={cache}", "-o", artifact], check=True, capture_output=True, text=True)
        if name != "gemma2":
            # Attention's kernels decode the keys that they read.
            fused = subprocess.run(
                ["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}", "-fshape=chunk=1",
                 f"-fcache={cache}", "--emit=fused", "-o", "-"], check=True, capture_output=True,
                text=True).stdout
            kernels = [line.split("->")[0] for line in fused.splitlines()
                       if "#cpu.ranged_attention" in line]
            assert kernels and all(line.count("xui8>") == 2 for line in kernels), kernels
        generator = Generator(artifact, threads=2)
        logits = generator.feed([prompt], 8)[0]
        error = np.linalg.norm(logits - expected) / np.linalg.norm(expected)
        assert 1e-5 < error < most, f"{name}, {cache}: logits are {error} off"
        tokens = generator.generate([prompt], COUNT, 8)[0]
        for chunk in (5, 1):
            got = generator.generate([prompt], COUNT, chunk)[0]
            assert got == tokens, f"{name}, chunks of {chunk}: {got}, not {tokens}"
        print(name, cache, "close:", told.stderr.split(", ", 1)[1].strip())
    if name == "llama":
        # Adapters of zeros, whose states are made between those of caches, change nothing.
        adapted = work / "adapted.so"
        subprocess.run(["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}",
                        "-fshape=chunk=1,8", f"-fcache={cache}", "--lora-rank=4", "-o", adapted],
                       check=True, capture_output=True)
        got = Generator(adapted, threads=2).generate([prompt], COUNT, 8)[0]
        assert got == tokens, f"{name} with adapters: {got}, not {tokens}"
        for cache in FORMATS:
            emulate(folder, ["prefill", "decode"], f"-fcache={cache}", "--context=32",
                    "-fshape=chunk=1,8")
