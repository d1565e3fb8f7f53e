"""Compares tokens of T5 and Whisper with transformers': transformers_encoders.py WORK [NAME...]

As transformers_compare.py: transformers reads a folder of random weights, writes it again and
generates; frit compiles what it wrote.
"""
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
import torch
import transformers

import encoders

CONTEXT, COUNT = 48, 40

work = Path(sys.argv[1])
failures = 0
for name in sys.argv[2:] or encoders.CONFIGS:
    source = encoders.make(work / "made", name)
    isWhisper = name == "whisper"
    kind = (transformers.WhisperForConditionalGeneration if isWhisper
            else transformers.T5ForConditionalGeneration)
    model = kind.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
    folder = work / name
    model.save_pretrained(folder)
    rng = np.random.default_rng(5)
    given = (rng.normal(size=(10, 48)).astype(np.float32) if isWhisper
             else rng.integers(2, 61, 23).tolist())
    start = [1, 7, 9] if isWhisper else [0]
    tokens = list(start)
    with torch.no_grad():
        encoded = model.get_encoder()(torch.tensor(given)[None])
        for _ in range(COUNT):
            logits = model(encoder_outputs=encoded,
                           decoder_input_ids=torch.tensor([tokens])).logits[0, -1]
            tokens.append(int(logits.argmax()))
    wanted = tokens[len(start):]
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,16", "-o", artifact], check=True)
    got = list(frit.load(artifact, device="cpu").generate(start, COUNT, source=given))
    numpy = encoders.load(folder).generate(given, start, COUNT)
    equal = [got == wanted, numpy == wanted]
    failures += not all(equal)
    print(f"{name:14} {len(set(wanted)):2} different tokens  "
          f"frit {'equal' if equal[0] else 'DIFFERS'}  "
          f"NumPy {'equal' if equal[1] else 'DIFFERS'}", flush=True)
sys.exit(f"{failures} of the models differ" if failures else 0)
