"""Runs the examples in the package's docstrings.

    doctests.py [MODULE...]

The working folder has digits.onnx and digit_3.npy.
"""
import doctest
import importlib
import sys

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

tried = failed = 0
names = sys.argv[1:] or ["frit", "frit._compile", "frit._load", "frit._module"]
for name in names:
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    tried, failed = tried + result.attempted, failed + result.failed
assert tried >= (1 if sys.argv[1:] else 15), f"only {tried} examples were found"
sys.exit(failed > 0)
