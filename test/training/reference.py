"""Trains a small network with frit and with NumPy, step by step.

    reference.py FOLDER [MARCH]

The network is relu(x · w1 + b1) · w2 + b2 with cross-entropy. Every optimizer,
clipping, accumulation, label smoothing, class weights, groups of weights, moving
averages and frozen weights must follow NumPy's float64 over STEPS steps with a
changing learning rate. Calls differ in how many labels they ignore.
"""
import fnmatch
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

STEPS, BATCH, SIZES = 20, 16, (12, 40, 5)


def make_model(path, weights):
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h1"], "fc1"),
             helper.make_node("Add", ["h1", "b1"], ["h2"], "bias1"),
             helper.make_node("Relu", ["h2"], ["h3"], "relu"),
             helper.make_node("MatMul", ["h3", "w2"], ["h4"], "fc2"),
             helper.make_node("Add", ["h4", "b2"], ["logits"], "bias2")]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "mlp", [info("x", TensorProto.FLOAT, (BATCH, SIZES[0]))],
        [info("logits", TensorProto.FLOAT, (BATCH, SIZES[2]))],
        [numpy_helper.from_array(w.astype(np.float32), n)
         for n, w in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def gradients(w, x, labels, smoothing, weights):
    """The loss, its gradients and the weight of the labels that count."""
    a = x @ w["w1"] + w["b1"]
    h = np.maximum(a, 0)
    z = h @ w["w2"] + w["b2"]
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    weights = np.ones(SIZES[2]) if weights is None else np.array(weights)
    target = np.eye(SIZES[2])[np.maximum(labels, 0)] * (1 - smoothing) + smoothing / SIZES[2]
    counts = (labels != -100)[:, None]
    target = target * weights * counts
    n = (weights[np.maximum(labels, 0)] * counts[:, 0]).sum()
    loss = -(target * np.log(p)).sum() / n
    dz = (p * target.sum(1, keepdims=True) - target) / n
    da = dz @ w["w2"].T * (a > 0)
    return loss, {"w1": x.T @ da, "b1": da.sum(0), "w2": h.T @ dz,
                  "b2": dz.sum(0)}, n


def update(kind, o, name, w, g, m, rate, t):
    """One step of an optimizer on one parameter; `m` are its moments."""
    decay = o.get("weight_decay", 0)
    for group in o.get("groups", ()):
        if any(fnmatch.fnmatch(name, pattern) for pattern in group["match"]):
            rate *= group.get("learning_rate_factor", 1)
            decay = group.get("weight_decay", decay)
            break
    decay = 0 if name in o.get("no_decay", ()) else decay
    if kind == "sgd":
        g = g + decay * w
        m[0] = o["momentum"] * m[0] + g
        return w - rate * (g + o["momentum"] * m[0] if o.get("nesterov") else m[0])
    if kind == "adam":
        g = g + decay * w
    m[0] = 0.9 * m[0] + 0.1 * g
    m[1] = 0.999 * m[1] + 0.001 * g * g
    step = m[0] / (1 - 0.9 ** t) / (np.sqrt(m[1] / (1 - 0.999 ** t)) +
                                   (1e-6 if kind == "lamb" else 1e-8))
    if kind == "adamw":
        return w * (1 - rate * decay) - rate * step
    if kind == "lamb":
        step = step + decay * w
        size, length = np.linalg.norm(w), np.linalg.norm(step)
        rate = rate * (size / length if size > 0 and length > 0 else 1)
    return w - rate * step


def follow(folder, march, name, config):
    rng = np.random.default_rng(1)
    shapes = {"w1": SIZES[:2], "b1": SIZES[1:2], "w2": SIZES[1:], "b2": SIZES[2:]}
    w = {n: rng.standard_normal(s).astype(np.float32) * 0.3
         for n, s in shapes.items()}
    make_model(folder / "mlp.onnx", w)
    (folder / "train.json").write_text(json.dumps(config))
    subprocess.run(["fritc", f"--train={folder}/train.json", f"-march={march}",
                    folder / "mlp.onnx", "-o", folder / f"{name}.so"], check=True)
    step = Step(folder / f"{name}.so")
    optimizer, parts = config["optimizer"], config.get("accumulate", 1)
    frozen = config.get("freeze", [])
    w = {n: v.astype(np.float64) for n, v in w.items()}
    moments = {n: [0, 0] for n in w}
    ema, averages = config.get("ema", {}).get("decay"), {}
    smoothing, class_weights = (config["loss"].get(k) for k in ("label_smoothing", "class_weights"))
    worst = 0
    for t in range(1, STEPS + 1):
        rate = 0.01 / t
        step.write(learning_rate=np.float32(rate))
        sums, counts = {n: 0 for n in w}, 0
        for _ in range(parts):
            x = rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)
            labels = rng.integers(0, SIZES[2], BATCH)
            labels[rng.permutation(BATCH)[:rng.integers(1, BATCH)]] = -100
            loss, grads, count = gradients(w, x.astype(np.float64), labels, smoothing or 0, class_weights)
            got = step.train(x=x, labels=labels)
            worst = max(worst, abs(got["loss"] - loss) / loss)
            sums, counts = {n: sums[n] + grads[n] * count for n in w}, counts + count
        sums = {n: g / counts for n, g in sums.items()}
        trained = [n for n in w if n not in frozen]
        norm = np.sqrt(sum((sums[n] ** 2).sum() for n in trained))
        if clip := config.get("clip_norm"):
            worst = max(worst, abs(got["gradient_norm"] - norm) / norm)
            sums = {n: g * min(1, clip / (norm + 1e-6)) for n, g in sums.items()}
        if clip := config.get("clip_value"):
            assert any(abs(g).max() > clip for g in sums.values())
            sums = {n: np.clip(g, -clip, clip) for n, g in sums.items()}
        for n in trained:
            w[n] = update(optimizer["kind"], optimizer, n, w[n], sums[n],
                          moments[n], rate, t)
            if ema:
                averages[n] = averages[n] * ema + w[n] * (1 - ema) if n in averages else w[n]
    # The evaluation reads the averages, if there are some.
    loss, _, count = gradients({**w, **averages}, x.astype(np.float64), labels, smoothing or 0, class_weights)
    got = step.evaluate(x=x, labels=labels)
    worst = max(worst, abs(got["loss"] - loss) / loss, abs(got["loss_count"] - count) / count)
    state = step.read()
    assert state["step"] == STEPS, state["step"]
    assert not set(frozen) & set(state), "a frozen weight is state"
    for n in trained:
        worst = max(worst, abs(state[n] - w[n]).max() / abs(w[n]).max())
        if ema:
            assert abs(w[n] - averages[n]).max() > 1e-4 * abs(w[n]).max()
            worst = max(worst, abs(state[f"{n}/ema"] - averages[n]).max() / abs(w[n]).max())
    step.close()
    print(f"{name}: largest deviation {worst:.1e}")
    assert worst < 2e-5, name


def main(folder, march="x86-64-v3"):
    smooth = {"kind": "cross_entropy", "label_smoothing": 0.1}
    decay = {"weight_decay": 0.1, "no_decay": ["b1", "b2"]}
    for name, config in {
            "sgd": {"optimizer": {"kind": "sgd", "momentum": 0.9, **decay}},
            "nesterov": {"optimizer": {"kind": "sgd", "momentum": 0.9,
                                       "nesterov": True}, "freeze": ["b1"]},
            "adam": {"optimizer": {"kind": "adam", **decay}, "clip_norm": 0.1},
            "adamw": {"optimizer": {"kind": "adamw", **decay}, "accumulate": 3},
            "lamb": {"optimizer": {"kind": "lamb", **decay},
                     "accumulate": 2, "clip_norm": 0.2},
            "groups": {"optimizer": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.1, "no_decay": ["b2"],
                                     "groups": [{"match": ["w2", "b2"], "learning_rate_factor": 0.25, "weight_decay": 0.5},
                                                {"match": ["*1"], "learning_rate_factor": 2}]}},
            "adamw_groups": {"optimizer": {"kind": "adamw", "weight_decay": 0.1,
                                           "groups": [{"match": ["w*"], "weight_decay": 0}, {"match": ["w1", "b1"], "learning_rate_factor": 0}]}},
            "clip_value": {"optimizer": {"kind": "sgd", "momentum": 0.9}, "clip_value": 0.02, "accumulate": 2},
            "ema": {"optimizer": {"kind": "adamw", **decay}, "accumulate": 2, "ema": {"decay": 0.9}},
            "ema_groups": {"optimizer": {"kind": "lamb", "groups": [{"match": ["b1"], "learning_rate_factor": 0.5}]}, "ema": {"decay": 0.95}},
            "weights": {"optimizer": {"kind": "sgd", "momentum": 0.9},
                        "loss": {"kind": "cross_entropy", "class_weights": [1, 0.5, 3, 0, 0.25]}},
            "smooth_weights": {"optimizer": {"kind": "adam"}, "accumulate": 3,
                               "loss": {**smooth, "class_weights": [0.01, 0.005, 0.03, 0.001, 0.025]}},
    }.items():
        follow(Path(folder), march, name, {"loss": smooth, **config})


main(*sys.argv[1:])
