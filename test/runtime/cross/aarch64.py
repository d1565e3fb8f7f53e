#!/usr/bin/env python3
"""Compiles models for Arm and runs them in QEMU, beside the same for x86-64.

Usage: aarch64.py BUILD MODELS WORK

BUILD has the programs for Arm. fritc and frit-run are in the path.
"""
import pathlib
import subprocess
import sys

import numpy as np

BUILD, MODELS, WORK = map(pathlib.Path, sys.argv[1:])
#: A processor of QEMU for each target, the least that has its instructions.
PROCESSORS = {"aarch64": "cortex-a57", "neoverse-n1": "neoverse-n1", "neoverse-v1": "max",
              "neoverse-v2": "max"}
TINY = MODELS / "tiny"
#: Model, input, flags, and the tolerance relative to the largest number.
CASES = [
    (MODELS / "digits.onnx", MODELS / "digit_3.npy", "", 1e-5),
    (TINY / "resnet50-dynamo.onnx", TINY / "resnet50.image.npy", "", 1e-4),
    (TINY / "resnet50-dynamo.onnx", TINY / "resnet50.image.npy", "-fprecision=fp16", 2e-2),
    (TINY / "vit-b16-dynamo.onnx", TINY / "vit-b16.image.npy", "-fprecision=bf16", 5e-2),
    (TINY / "bert-large-dynamo.onnx", TINY / "bert-large.ids.npy", "", 1e-4),
    (TINY / "llama-1b-dynamo.onnx", TINY / "llama-1b.ids.npy", "-fprecision=fp16", 2e-2),
]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def emulate(processor, program, *words):
    return run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", processor, program, *words)


def arrays(file):
    loaded = np.load(file)
    return [loaded] if isinstance(loaded, np.ndarray) else [loaded[name] for name in loaded.files]


def run_on_arm(model, inputs, expected, processor):
    """Returns the target that ran, and the outputs, which look like `expected`."""
    words = []
    for i, array in enumerate(inputs):
        words.append(WORK / f"in{i}")
        array.tofile(words[-1])
    outputs = [WORK / f"out{i}" for i in range(len(expected))]
    ran = emulate(processor, BUILD / "bin/run_model", model, *words, "--", *outputs)
    return ran, [np.fromfile(file, dtype=like.dtype).reshape(like.shape)
                 for file, like in zip(outputs, expected)]


def compare(what, got, expected, tolerance):
    for one, reference in zip(got, expected, strict=True):
        most = np.abs(reference.astype(float)).max()
        error = np.abs(one.astype(float) - reference.astype(float)).max() / most
        if not error <= tolerance:
            sys.exit(f"{what}: the largest error is {error:g} of the largest number")


def models():
    for model, data, flags, tolerance in CASES:
        x86, file = WORK / "x86.so", WORK / "expected.npz"
        run("fritc", model, "-march=x86-64-v3", *flags.split(), "-o", x86)
        run("frit-run", x86, f"--input=@{data}", f"--output=@{file}")
        expected = arrays(file)
        for target, processor in PROCESSORS.items():
            arm = WORK / "arm.so"
            run("fritc", model, f"-march={target}", *flags.split(), "-o", arm)
            ran, got = run_on_arm(arm, arrays(data), expected, processor)
            what = f"{model.stem} {flags} for {target}"
            if ran != target:
                sys.exit(f"{what}: {ran} ran")
            compare(what, got, expected, tolerance)
            print(what)


def choices():
    """An artifact for several processors runs the best that there is."""
    several = WORK / "several.so"
    image = arrays(MODELS / "digit_3.npy")
    expected = [np.zeros((1, 10), np.float32)]
    run("fritc", MODELS / "digits.onnx", f"-march={','.join(PROCESSORS)}", "-o", several)
    for processor, best in {"cortex-a57": "aarch64",
                            "neoverse-n1": "neoverse-n1", "max": "neoverse-v2"}.items():
        ran, _ = run_on_arm(several, image, expected, processor)
        if ran != best:
            sys.exit(f"{processor} ran {ran}, not {best}")
        print(f"{processor}: {ran}")


def weights():
    """Weights in a file beside the artifact."""
    model = WORK / "outside.so"
    run("fritc", MODELS / "digits.onnx", "-march=aarch64", "-fexternal-weights", "-o", model)
    like = [np.zeros((1, 10), np.float32)]
    _, (scores,) = run_on_arm(model, arrays(MODELS / "digit_3.npy"), like, "cortex-a57")
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
        said = emulate("neoverse-n1", program, MODELS / f"digit_{digit}.npy", digit)
        print(f"linked: {said}")


def custom():
    """Custom operators whose functions in C the cross compiler compiles."""
    folder = MODELS.parent / "custom"
    run(sys.executable, folder / "make.py", WORK)
    model = WORK / "custom.so"
    for target in PROCESSORS:
        run("fritc", WORK / "model.onnx", "-fshape=batch=2", f"--custom-op={folder}/softcap.json",
            f"--custom-op={folder}/scan.json", f"-march={target}", "-o", model)
        expected = arrays(WORK / "expected.npz")
        _, got = run_on_arm(model, arrays(WORK / "x.npy"), expected, PROCESSORS[target])
        compare(f"custom operators for {target}", got, expected, 1e-5)
    print("custom operators")


models()
choices()
weights()
linked()
custom()
