"""A moving average of the weights beside NumPy's: average.py FOLDER make|check"""
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

folder = Path(sys.argv[1])


def read(name):
    return load_file(folder / name)


def evaluate(weights):
    test = np.load(folder / "test.npz")
    logits = test["x"].astype(np.float64) @ weights["fc.weight"] + weights["fc.bias"]
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return -logs[np.arange(len(logs)), test["labels"]].mean()


if sys.argv[2] == "make":
    (folder / "train.json").write_text(json.dumps({
        "loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "sgd", "learning_rate": 0.5, "momentum": 0.9},
        "ema": {"decay": 0.8}}))
else:
    names, averages = ("fc.weight", "fc.bias"), {}
    for step in range(1, 21):
        state = read(f"run/step-{step:06}.safetensors")
        for name in names:
            averages[name] = 0.8 * averages[name] + 0.2 * state[name] if step > 1 else state[name].astype(np.float64)
            np.testing.assert_allclose(state[f"{name}/ema"], averages[name], atol=1e-5)
    exported = read("new.safetensors")
    assert sorted(exported) == sorted(names), sorted(exported)
    for name in names:
        assert (exported[name] == state[f"{name}/ema"]).all() and (exported[name] != state[name]).any()
    run, kept, new = (json.loads((folder / f"{n}.json").read_text())["eval_loss"] for n in ("run", "kept", "new"))
    np.testing.assert_allclose(run, evaluate(exported), rtol=1e-5)
    assert run == kept == new and abs(run - evaluate(state)) > 1e-4
    # Weights that a run begins with are those of its average, too, until the first step copies it.
    first, before = read("next/step-000001.safetensors"), json.loads((folder / "zero.json").read_text())["eval_loss"]
    assert before == run
    for name in names:
        np.testing.assert_array_equal(first[name], first[f"{name}/ema"])
        assert abs(first[name] - exported[name]).max() < 0.5
    print("20 averages")
