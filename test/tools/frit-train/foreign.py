"""Adds the checkpoint of another model to a folder: foreign.py FOLDER"""
import sys
from pathlib import Path

folder = Path(sys.argv[1])
data = (folder / "step-000120.safetensors").read_bytes()
(folder / "step-000130.safetensors").write_bytes(
    data.replace(b"softmax", b"hardmax"))
