#!/usr/bin/env python3
"""Compiles models for Windows and runs them in Wine, beside the same for Linux.

Usage: windows.py BUILD MODELS WORK

BUILD has the programs for Windows. fritc and frit-run are in the path.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
from models import BUILD, CASES, MODELS, WORK, arrays, compare, reference, run, run_model

EMULATOR = ("/usr/lib/wine/wine64",)
SCORES = [np.zeros((1, 10), np.float32)]
os.environ["WINEPREFIX"] = str((WORK / "wine").absolute())
os.environ["WINEDEBUG"] = "-all"


def start_wine():
    """Makes Wine's folder. Wine 8 sometimes waits for its own server for ever, so this tries again."""
    for _ in range(3):
        shutil.rmtree(WORK / "wine", ignore_errors=True)
        try:
            subprocess.run([*EMULATOR, "wineboot", "--init"], timeout=120, capture_output=True,
                           check=True)
            return
        except subprocess.TimeoutExpired:
            subprocess.run(["/usr/lib/wine/wineserver64", "-k"], check=False)
    sys.exit("Wine does not start")


def run_on_windows(model, inputs, expected):
    return run_model(EMULATOR, BUILD / "bin/run_model.exe", model, inputs, expected)


def models():
    for model, data, flags, tolerance in CASES:
        expected = reference(model, data, flags)
        library = WORK / "windows.dll"
        run("fritc", model, "--os=windows", "-march=x86-64-v3", *flags.split(), "-o", library)
        _, got = run_on_windows(library, arrays(data), expected)
        compare(f"{model.stem} {flags} for Windows", got, expected, tolerance)


def weights():
    """Weights in a file beside the artifact."""
    model = WORK / "outside.dll"
    run("fritc", MODELS / "digits.onnx", "--os=windows", "-march=x86-64", "-fexternal-weights",
        "-o", model)
    _, (scores,) = run_on_windows(model, arrays(MODELS / "digit_3.npy"), SCORES)
    print(f"weights outside: {scores.argmax()}")


def linked():
    """A program that links an object and frit.dll, and one that links the static library."""
    folder = pathlib.Path(__file__).parent.parent
    run("fritc", "-c", MODELS / "digits.onnx", "--os=windows", "-march=x86-64-v3", "-o",
        WORK / "digits.o")
    command = ["x86_64-w64-mingw32-gcc-posix", f"-I{WORK}",
               f"-I{folder.parent.parent}/runtime/include", folder / "linked_test.c",
               WORK / "digits.o"]
    run(*command, BUILD / "lib/libfrit.dll.a", "-o", BUILD / "bin/dynamic.exe")
    run(*command, BUILD / "lib/libfrit_runtime.a", "-lstdc++", "-lpthread", "-static", "-o",
        BUILD / "bin/static.exe")
    for kind in ("dynamic", "static"):
        said = run(*EMULATOR, BUILD / f"bin/{kind}.exe", MODELS / "digit_7.npy", 7)
        print(f"{kind}: {said}")


def refusals():
    """What a program for Windows says of other files."""
    run("fritc", MODELS / "digits.onnx", "-march=x86-64", "-o", WORK / "linux.so")
    (WORK / "cut.dll").write_bytes((WORK / "outside.dll").read_bytes()[:100])
    for name in ("linux.so", "cut.dll", "digits.o", "none.dll"):
        done = subprocess.run([*EMULATOR, BUILD / "bin/run_model.exe", WORK / name],
                              capture_output=True, text=True, check=False)
        print(f"refused: {done.stderr.strip()}")


start_wine()
models()
weights()
linked()
refusals()
