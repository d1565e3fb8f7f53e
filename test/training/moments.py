"""Trains a small network with moments in 8 bits beside moments in f32, on the CPU
target: losses must be about the same, and a run must go on from its state.

    moments.py FOLDER
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

folder = Path(sys.argv[1])
random = np.random.default_rng(7)
sizes = {"w": (20, 96), "b": (96,), "v": (96, 5)}
weights = {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in sizes.items()}
info = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["i"]),
     helper.make_node("Tanh", ["i"], ["t"]), helper.make_node("MatMul", ["t", "v"], ["y"])],
    "net", [info("x", TensorProto.FLOAT, (16, 20))], [info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(value, name) for name, value in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "net.onnx")
teacher = random.normal(0, 1, (20, 5))


def compile_step(name, optimizer, moments, **options):
    (folder / f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": "mse"}, "optimizer": dict(optimizer, moments=moments), **options}))
    subprocess.run(["fritc", folder / "net.onnx", f"--train={folder / name}.json", "-march=x86-64-v3",
                    "-o", folder / f"{name}.so"], check=True)
    return Step(folder / f"{name}.so")


def train(step, first, last):
    losses = []
    for i in range(first, last):
        x = np.random.default_rng(i).normal(0, 1, (16, 20)).astype(np.float32)
        losses.append(float(step.train(x=x, target=np.tanh(x @ teacher).astype(np.float32))["loss"]))
    return np.array(losses)


def decoded(state, name):
    """The numbers that a moment's codes stand for, by the formula in Moments.cpp."""
    codes = state[name].astype(np.float64).ravel()
    scales = np.repeat(state[f"{name}/scale"], 64)[:codes.size].astype(np.float64)
    value = (codes / 255) ** 4 if name.endswith("/v") else (codes / 127) * abs(codes / 127)
    return (value * scales).reshape(state[name].shape)


for kind, optimizer in {"adamw": {"learning_rate": 3e-3, "weight_decay": 0.01}, "adam": {"learning_rate": 3e-3},
                        "lamb": {"learning_rate": 1e-2}, "sgd": {"learning_rate": 0.05, "momentum": 0.9}}.items():
    optimizer = dict(optimizer, kind=kind)
    wide, narrow = (compile_step(f"{kind}-{m}", optimizer, m) for m in ("f32", "int8"))
    # After one step the codes are those of the moments in f32.
    a, b = train(wide, 0, 1), train(narrow, 0, 1)
    full, state = wide.read(), narrow.read()
    assert a == b
    for name in full:
        if "/" not in name:
            continue
        assert state[name].dtype == (np.uint8 if name.endswith("/v") else np.int8), name
        block = np.repeat(state[f"{name}/scale"], 64)[:full[name].size].reshape(full[name].shape)
        error = np.abs(decoded(state, name) - full[name]) / block
        assert error.max() < 1.0 / 64 and np.any(full[name]), (name, error.max())
    a, b = train(wide, 1, 300), train(narrow, 1, 150)
    # Goes on in another context from what was read.
    kept = narrow.read()
    narrow.close()
    narrow = Step(folder / f"{kind}-int8.so")
    narrow.write(**kept)
    b = np.concatenate([b, train(narrow, 150, 300)])
    ends = a[-50:].mean(), b[-50:].mean()
    assert ends[0] < 0.5 * a[0] and abs(ends[1] / ends[0] - 1) < 0.05, (kind, a[0], ends)
    wide.close()
    narrow.close()
    print(f"{kind}: loss {b[0]:.3f} -> {ends[1]:.4f}, with moments in f32 {ends[0]:.4f}")
