"""Shared by the tests of the Python package, whose arguments are

    SOURCE LIB FOLDER

LIB has the test models state_model.so; artifacts are written to FOLDER.
"""
import sys
from pathlib import Path

import numpy as np

import frit
from checks import fails, run_tests  # noqa: F401

SOURCE, LIB, FOLDER = map(Path, sys.argv[1:4])
MODELS = SOURCE / "test/models"
IMAGE = np.load(MODELS / "digit_3.npy")
EXPECTED = np.load(MODELS / "digits.npz")
CPU = {"march": "x86-64-v3", "device": "cpu"}

digits = frit.compile(MODELS / "digits.onnx", **CPU)
PROBABILITIES = digits(IMAGE)
