"""Models that are run on another kind of machine, and their results for x86-64."""
import pathlib
import subprocess
import sys

import numpy as np

BUILD, MODELS, WORK = map(pathlib.Path, sys.argv[1:])
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
                          check=False, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def arrays(file):
    loaded = np.load(file)
    return [loaded] if isinstance(loaded, np.ndarray) else [loaded[name] for name in loaded.files]


def reference(model, data, flags):
    """The outputs of the target x86-64-v3."""
    library, file = WORK / "x86.so", WORK / "expected.npz"
    run("fritc", model, "-march=x86-64-v3", *flags.split(), "-o", library)
    run("frit-run", library, f"--input=@{data}", f"--output=@{file}")
    return arrays(file)


def run_model(emulator, program, model, inputs, expected):
    """Runs a model by `emulator`, a command. Returns the target that ran, and the outputs, which
    look like `expected`."""
    words = []
    for i, array in enumerate(inputs):
        words.append(WORK / f"in{i}")
        array.tofile(words[-1])
    outputs = [WORK / f"out{i}" for i in range(len(expected))]
    ran = run(*emulator, program, model, *words, "--", *outputs)
    return ran, [np.fromfile(file, dtype=like.dtype).reshape(like.shape)
                 for file, like in zip(outputs, expected, strict=True)]


def compare(what, got, expected, tolerance):
    for one, like in zip(got, expected, strict=True):
        most = np.abs(like.astype(float)).max()
        error = np.abs(one.astype(float) - like.astype(float)).max() / most
        if not error <= tolerance:
            sys.exit(f"{what}: the largest error is {error:g} of the largest number")
    print(what)
