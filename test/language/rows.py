"""Products of a few rows: rows.py WORK. Four sequences in int4, by blocks that copy rows for each other,
and in fp8 on the emulator, as on the CPU."""
import re
import sys
from pathlib import Path

import folders
from emulated import emulate

SIZES = dict(hidden_size=512, intermediate_size=1024, num_attention_heads=8, num_key_value_heads=2,
             num_hidden_layers=1)

config = folders.CONFIGS["llama"] | SIZES
folder = Path(sys.argv[1]) / "llama"
folders.write_folder(folder, config, folders.random_tensors(config, 1))
for weights in "fp8", "int4":
    text = emulate(folder, ["decode"], "--context=64", "--batch=4", "-fshape=chunk=1",
                   "-fprecision=bf16", f"-fweights={weights}", rtol="2e-2")
for rows, k, sharing in re.findall(r"m = (\d+), n = \d+, k = (\d+);(?:\n.*){0,4} sharing = (\d+);",
                                   text):
    print(f"{rows} rows of {k}, shared by {sharing}")
