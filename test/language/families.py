"""Compiles folders of language models and compares the tokens that they generate with NumPy's:
families.py WORK NAME..."""
import subprocess
import sys
from pathlib import Path

import numpy as np

import folders
from generate import Generator
from reference import Decoder

CONTEXT, COUNT = 96, 40

work = Path(sys.argv[1])
for name in sys.argv[2:]:
    folder = folders.make(work, name)
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,8", "-o", artifact], check=True)
    rng = np.random.default_rng(5)
    prompt = rng.integers(0, 61, 19).tolist()
    expected = Decoder(folder, CONTEXT)
    generator = Generator(artifact, threads=2)
    # Chunks of 8 with a rest of 3; of 5, which are padded; and token by token.
    logits = generator.feed([prompt], 8)[0]
    error = np.abs(logits - expected.logits(prompt)).max() / np.abs(logits).max()
    assert error < 1e-4, f"{name}: logits are {error} off"
    tokens = expected.generate(prompt, COUNT)
    for chunk in (8, 5, 1):
        got = generator.generate([prompt], COUNT, chunk)[0]
        assert got == tokens, f"{name}, chunks of {chunk}: {got}, not {tokens}"
    print(name, "equal,", len(set(tokens)), "different tokens")
