"""Compares generated tokens with transformers': transformers_compare.py WORK [NAME...]

Needs PyTorch and transformers, which the compiler does not; `FRIT_TORCH_PYTHON` runs it in the
tests. transformers writes the folder of each family, of random weights, and generates 64 tokens;
frit compiles the folder in f32 for this CPU and generates them, too, as does `reference.py`.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

import folders
from generate import Generator
from reference import Decoder

CONTEXT, COUNT = 96, 64

work = Path(sys.argv[1])
failures = 0
for name in sys.argv[2:] or folders.CONFIGS:
    source = folders.make(work / "made", name)
    config = transformers.AutoConfig.from_pretrained(source)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        source, config=config, dtype=torch.float32, attn_implementation="eager").eval()
    # Do not stop, nor take tokens of the prompt for padding.
    for config in (model.generation_config, model.config):
        config.eos_token_id = config.pad_token_id = None
    folder = work / name
    model.save_pretrained(folder)
    prompt = np.random.default_rng(5).integers(0, 61, 30).tolist()
    with torch.no_grad():
        ids = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=COUNT,
                             attention_mask=torch.ones(1, len(prompt), dtype=int))
        scores = model(torch.tensor([prompt])).logits[0, -1].numpy()
    wanted = ids[0, len(prompt):].tolist()
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", folder, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,16", "-o", artifact], check=True)
    generator = Generator(artifact, threads=2)
    logits = generator.feed([prompt], 16)[0]
    error = np.abs(logits - scores).max() / np.abs(scores).max()
    got = generator.generate([prompt], COUNT, 16)[0]
    numpy = Decoder(folder, CONTEXT).generate(prompt, COUNT)
    equal = [got == wanted, numpy == wanted]
    failures += not all(equal)
    print(f"{name:14} logits {error:.1e}  {len(set(wanted)):2} different tokens  "
          f"frit {'equal' if equal[0] else 'DIFFERS'}  "
          f"NumPy {'equal' if equal[1] else 'DIFFERS'}", flush=True)
sys.exit(f"{failures} of the families differ" if failures else 0)
