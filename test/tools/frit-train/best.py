"""Checks best checkpoints against the log of their run: best.py FOLDER RUN METRIC min|max PATIENCE"""
import json
import sys
from pathlib import Path

import numpy as np
from safetensors import safe_open

folder, run, metric, order, patience = Path(sys.argv[1]), *sys.argv[2:6]
patience = int(patience)


def read(path):
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


lines = [json.loads(line) for line in (folder / f"{run}.jsonl").read_text().splitlines()]
found = [(line["step"], line[metric]) for line in lines if metric in line]
best, since = None, 0
for step, value in found:
    assert not patience or since < patience, "it went on"
    if np.isfinite(value) and (best is None or (value > best[1] if order == "max" else value < best[1])):
        best, since = (step, value), 0
    else:
        since += 1
summary = json.loads((folder / f"{run}.json").read_text())
assert summary["stopped_early"] == bool(patience and since == patience), summary
assert summary["steps"] == found[-1][0]
assert summary["best"] == {metric: best[1], "step": best[0]}, (summary, best)
state, meta = read(folder / run / "best.safetensors")
assert meta["frit.steps"] == str(best[0]) and float(meta["frit.best_value"]) == best[1], meta
exported, _ = read(folder / f"{run}.safetensors")
for name, value in exported.items():
    assert (state[name] == value).all(), name
# The best weights have that value on the data, in NumPy.
test = np.load(folder / sys.argv[6])
logits = test["x"].astype(np.float64) @ exported["fc.weight"] + exported["fc.bias"]
logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
value = {"eval_loss": -logs[np.arange(len(logs)), test["labels"]].mean(),
         "eval_accuracy": (logits.argmax(1) == test["labels"]).mean()}[metric]
np.testing.assert_allclose(best[1], value, rtol=1e-5)
newest, meta = read(max((folder / run).glob("step-*")))
assert meta["frit.evaluations_since_best"] == str(since), meta
assert meta["frit.steps"] == str(found[-1][0]), meta
assert any((newest[name] != value).any() for name, value in exported.items()) == bool(since)
print(f"best {metric} of {len(found)} at step {best[0]}")
