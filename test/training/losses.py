"""Trains by several losses with frit and with NumPy, step by step: losses.py FOLDER

The heads of h = x w0 are out = h w1 and aux = h w2, with cross-entropies of the
same labels, and box = h w3, with a squared error. PyTorch writes their sum as
ce(out, y) + 0.4 * ce(aux, y, weight=V) + 2 * mse(box, t).
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

FOLDER = Path(sys.argv[1])
BATCH, CLASSES, V = 8, 4, np.array([1, 0.5, 2, 0.25])
random = np.random.default_rng(0)
SHAPES = {"w0": (5, 6), "w1": (6, CLASSES), "w2": (6, CLASSES), "w3": (6, 3)}
W = {n: random.normal(0, 0.5, s).astype(np.float32) for n, s in SHAPES.items()}

info, node = helper.make_tensor_value_info, helper.make_node
heads = {"out": "w1", "aux_out": "w2", "box_out": "w3"}
onnx.save(helper.make_model(helper.make_graph(
    [node("MatMul", ["x", "w0"], ["h"]), *(node("MatMul", ["h", w], [o]) for o, w in heads.items())], "heads",
    [info("x", TensorProto.FLOAT, (BATCH, 5))], [info(o, TensorProto.FLOAT, None) for o in heads],
    [numpy_helper.from_array(w, n) for n, w in W.items()]),
    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / "heads.onnx")


def cross_entropy(z, labels, weights):
    """The loss, and its gradient of z."""
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    w = np.where(labels >= 0, weights[np.maximum(labels, 0)], 0)
    loss = -(w * np.log(p[np.arange(BATCH), np.maximum(labels, 0)])).sum() / w.sum()
    return loss, w[:, None] * (p - np.eye(CLASSES)[np.maximum(labels, 0)]) / w.sum()


def follow(title, calls):
    losses = [{"name": "main", "kind": "cross_entropy", "output": "out", "mean": "call"},
              {"name": "aux", "kind": "cross_entropy", "output": "aux_out", "weight": 0.4, "mean": "call",
               "class_weights": list(V)},
              {"name": "box", "kind": "mse", "output": "box_out", "weight": 2, "target": "boxes"}]
    (FOLDER / "train.json").write_text(json.dumps(
        {"loss": losses, "optimizer": {"kind": "sgd", "learning_rate": 0.1}, "accumulate": calls}))
    subprocess.run(["fritc", "heads.onnx", "--train=train.json", "-march=x86-64-v3", "-o", "step.so"], cwd=FOLDER, check=True)
    step, w, worst = Step(FOLDER / "step.so"), {n: v.astype(np.float64) for n, v in W.items()}, 0
    for _ in range(10):
        sums = {n: 0 for n in w}
        for _ in range(calls):
            x = random.standard_normal((BATCH, 5)).astype(np.float32)
            boxes = random.standard_normal((BATCH, 3)).astype(np.float32)
            labels = random.integers(0, CLASSES, BATCH)
            labels[random.integers(0, BATCH)] = -100
            h = x.astype(np.float64) @ w["w0"]
            main, d1 = cross_entropy(h @ w["w1"], labels, np.ones(CLASSES))
            aux, d2 = cross_entropy(h @ w["w2"], labels, V)
            error = h @ w["w3"] - boxes
            box, d2, d3 = (error ** 2).mean(), 0.4 * d2, 2 * 2 * error / error.size
            expected = {"loss": main + 0.4 * aux + 2 * box, "main": main, "aux": aux, "box": box}
            evaluated = step.evaluate(x=x, labels=labels, boxes=boxes)
            got = step.train(x=x, labels=labels, boxes=boxes)
            assert list(got) == list(expected), list(got)
            assert "loss_count" not in evaluated
            for name, value in expected.items():
                worst = max(worst, abs(got[name] - value) / value, abs(evaluated[name] - value) / value)
            for name, g in {"w0": x.T @ (d1 @ w["w1"].T + d2 @ w["w2"].T + d3 @ w["w3"].T),
                            "w1": h.T @ d1, "w2": h.T @ d2, "w3": h.T @ d3}.items():
                sums[name] = sums[name] + g / calls
        w = {n: w[n] - 0.1 * sums[n] for n in w}
    state = step.read()
    worst = max(worst, *(abs(state[n] - w[n]).max() / abs(w[n]).max() for n in w))
    step.close()
    print(f"{title}: largest deviation {worst:.1e}")
    assert worst < 2e-5


follow("one call", 1)
follow("two calls", 2)
np.savez(FOLDER / "data.npz", x=random.standard_normal((32, 5)).astype(np.float32),
         labels=random.integers(0, CLASSES, 32), boxes=random.standard_normal((32, 3)).astype(np.float32))
subprocess.run(["frit-train", "step.so", "--device=cpu", "--data=data.npz", "--eval=data.npz", "--log=log.jsonl", "--log-every=1"],
               cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
lines = [json.loads(line) for line in (FOLDER / "log.jsonl").read_text().splitlines()]
names = list(lines[0])[2:6]
assert [f"eval_{n}" for n in names] == list(lines[-1])[2:6], lines[-1]
for line in lines[:-1] + [{n: lines[-1][f"eval_{n}"] for n in names}]:
    np.testing.assert_allclose(line["loss"], line["main"] + 0.4 * line["aux"] + 2 * line["box"], rtol=1e-5)
print("the log has", ", ".join(names))
