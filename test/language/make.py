"""Writes folders of random weights: make.py WORK NAME[:FILES]..."""
import sys
from pathlib import Path

import folders

for spec in sys.argv[2:]:
    name, _, files = spec.partition(":")
    folders.make(Path(sys.argv[1]), name, int(files or 1))
