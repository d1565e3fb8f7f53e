"""Writes weights of every kind for the step of these tests, and checks what it
evaluates with them beside NumPy: weights.py FOLDER make|check"""
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

folder = Path(sys.argv[1])
random = np.random.default_rng(3)
WEIGHT, BIAS = (random.normal(0, 1, s).astype(np.float32) for s in ((4, 3), 3))


def write(name, **tensors):
    save_file({key.replace("__", "."): np.asarray(array) for key, array in tensors.items()},
              folder / name)


def logits_of(weight, bias):
    return np.load(folder / "test.npz")["x"] @ weight + bias


def expected(logits):
    labels = np.load(folder / "test.npz")["labels"]
    logits = logits.astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return -logs[np.arange(len(labels)), labels].mean(), (logits.argmax(1) == labels).mean()


if sys.argv[2] == "make":
    write("f32.safetensors", fc__weight=WEIGHT, fc__bias=BIAS, norm__num_batches_tracked=np.int64(5))
    write("f64.safetensors", fc__weight=WEIGHT.astype(np.float64), fc__bias=BIAS.astype(np.float64))
    write("f16.safetensors", fc__weight=WEIGHT.astype(np.float16), fc__bias=BIAS.astype(np.float16))
    write("bf16.safetensors", fc__weight=WEIGHT.astype(ml_dtypes.bfloat16), fc__bias=BIAS.astype(ml_dtypes.bfloat16))
    write("lacks.safetensors", fc__weight=WEIGHT)
    write("wide.safetensors", fc__weight=np.zeros((5, 3), np.float32), fc__bias=BIAS)
    write("integer.safetensors", fc__weight=WEIGHT, fc__bias=np.zeros(3, np.int64))
    write("more.safetensors", fc__weight=WEIGHT, fc__bias=BIAS, **{f"head{i}__weight": BIAS for i in range(6)})
    write("other.safetensors", linear__weight=WEIGHT, linear__bias=BIAS)
    raw = (folder / "f32.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(raw[:-7])
    (folder / "text.safetensors").write_bytes(b"weights" * 9)
else:
    half = [w.astype(np.float16).astype(np.float32) for w in (WEIGHT, BIAS)]
    narrow = [w.astype(ml_dtypes.bfloat16).astype(np.float32) for w in (WEIGHT, BIAS)]
    zero = np.zeros(3, np.float32)
    for name, weights in {"f32": (WEIGHT, BIAS), "f64": (WEIGHT, BIAS), "f16": half, "bf16": narrow,
                          "lacks": (WEIGHT, zero), "more": (WEIGHT, BIAS)}.items():
        said = json.loads((folder / f"{name}.json").read_text())
        loss, accuracy = expected(logits_of(*weights))
        np.testing.assert_allclose(said["eval_loss"], loss, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(said["eval_accuracy"], accuracy, err_msg=name)
        assert said["samples"] == 61 and said["weights"] == f"{name}.safetensors", said
    compiled = json.loads((folder / "compiled.json").read_text())
    np.testing.assert_allclose(compiled["eval_loss"], np.log(3), rtol=1e-6)
    # A checkpoint evaluates as the run did that wrote it, and so does its export.
    run, kept, new = (json.loads((folder / f"{name}.json").read_text()) for name in ("run", "kept", "new"))
    for key in "eval_loss", "eval_accuracy":
        assert run[key] == kept[key] == new[key], key
    assert json.loads((folder / "log.jsonl").read_text().splitlines()[-1]) == kept
    print("all weights")
