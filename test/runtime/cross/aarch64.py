#!/usr/bin/env python3
"""Compiles models for Arm and runs them in QEMU, beside the same for x86-64.

Usage: aarch64.py BUILD MODELS WORK

BUILD has the programs for Arm. fritc and frit-run are in the path.
"""
import pathlib
import sys

import numpy as np
from models import BUILD, CASES, MODELS, WORK, arrays, compare, reference, run, run_model

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
import parts  # noqa: E402

#: A processor of QEMU for each target, the least that has its instructions.
PROCESSORS = {"aarch64": "cortex-a57", "neoverse-n1": "neoverse-n1", "neoverse-v1": "max",
              "neoverse-v2": "max"}
SCORES = [np.zeros((1, 10), np.float32)]


def emulator(processor):
    return "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", processor


def run_on_arm(model, inputs, expected, processor):
    return run_model(emulator(processor), BUILD / "bin/run_model", model, inputs, expected)


def kernels():
    """The runtime's products and convolutions, by one of its instruction sets."""
    for processor in parts.pick("kernels on Arm", ["cortex-a57", "max"]):
        run(*emulator(processor), BUILD / "bin/cpu_kernels_test")
        print(f"products and convolutions: {processor}")


def models():
    for model, data, flags, tolerance in CASES:
        expected = reference(model, data, flags)
        for target, processor in PROCESSORS.items():
            library = WORK / "arm.so"
            run("fritc", model, f"-march={target}", *flags.split(), "-o", library)
            ran, got = run_on_arm(library, arrays(data), expected, processor)
            what = f"{model.stem} {flags} for {target}"
            if ran != target:
                sys.exit(f"{what}: {ran} ran")
            compare(what, got, expected, tolerance)


def choices():
    """An artifact for several processors runs the best that there is."""
    several = WORK / "several.so"
    run("fritc", MODELS / "digits.onnx", f"-march={','.join(PROCESSORS)}", "-o", several)
    for processor, best in {"cortex-a57": "aarch64", "neoverse-n1": "neoverse-n1",
                            "max": "neoverse-v2"}.items():
        ran, _ = run_on_arm(several, arrays(MODELS / "digit_3.npy"), SCORES, processor)
        if ran != best:
            sys.exit(f"{processor} ran {ran}, not {best}")
        print(f"{processor}: {ran}")


def weights():
    """Weights in a file beside the artifact."""
    model = WORK / "outside.so"
    run("fritc", MODELS / "digits.onnx", "-march=aarch64", "-fexternal-weights", "-o", model)
    _, (scores,) = run_on_arm(model, arrays(MODELS / "digit_3.npy"), SCORES, "cortex-a57")
    print(f"weights outside: {scores.argmax()}")


def linked():
    """An object in a program."""
    folder = pathlib.Path(__file__).parent.parent
    program = WORK / "linked"
    run("fritc", "-c", MODELS / "digits.onnx", "-march=neoverse-n1", "-o", WORK / "digits.o")
    run("aarch64-linux-gnu-gcc", f"-I{WORK}", f"-I{folder.parent.parent}/runtime/include",
        folder / "linked_test.c", WORK / "digits.o", BUILD / "lib/libfrit_runtime.a", "-lstdc++",
        "-lm", "-lpthread", "-ldl", "-o", program)
    for digit in (3, 7):
        said = run(*emulator("neoverse-n1"), program, MODELS / f"digit_{digit}.npy", digit)
        print(f"linked: {said}")


def custom():
    """Custom operators whose functions in C the cross compiler compiles."""
    folder = MODELS.parent / "custom"
    run(sys.executable, folder / "make.py", WORK)
    model = WORK / "custom.so"
    for target, processor in PROCESSORS.items():
        run("fritc", WORK / "model.onnx", "-fshape=batch=2", f"--custom-op={folder}/softcap.json",
            f"--custom-op={folder}/scan.json", f"-march={target}", "-o", model)
        expected = arrays(WORK / "expected.npz")
        _, got = run_on_arm(model, arrays(WORK / "x.npy"), expected, processor)
        compare(f"custom operators for {target}", got, expected, 1e-5)


kernels()
models()
choices()
weights()
linked()
custom()
