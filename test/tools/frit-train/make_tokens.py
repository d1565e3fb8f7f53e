"""Writes tokens that repeat, after a header of 8 bytes, and some that are wrong;
and what to train: make_tokens.py FOLDER"""
import json
import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
pattern = np.random.default_rng(1).integers(0, 96, 37)
tokens = np.resize(pattern, 24 * 2 * 100 + 1).astype(np.uint16)
(folder / "tokens.bin").write_bytes(b"8 bytes." + tokens.tobytes())
tokens[500] = 96
(folder / "wrong.bin").write_bytes(tokens.tobytes())
(folder / "train.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "adamw"}}))
