"""Writes model.onnx, which uses both operators, an input and NumPy's results.

    make.py FOLDER [DTYPE]

`export.py` makes such a model from PyTorch.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, STEPS, CHANNELS = 2, 9, 24


def softcap(x, limit):
    return limit * np.tanh(x / limit)


def linear_scan(x, a):
    h, state = np.empty_like(x), np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = a[:, t] * state + x[:, t]
        h[:, t] = state
    return h


def main(folder):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((CHANNELS, CHANNELS)).astype(np.float32) / 4
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["u"]),
        helper.make_node("Sigmoid", ["u"], ["a"]),
        helper.make_node("LinearScan", ["x", "a"], ["h"], "scan", domain="com.example"),
        helper.make_node("Add", ["h", "u"], ["v"]),
        helper.make_node("Softcap", ["v"], ["c"], "cap", domain="com.example", limit=2.0),
        helper.make_node("Mul", ["c", "u"], ["y"]),
    ]
    shape = ["batch", STEPS, CHANNELS]
    graph = helper.make_graph(
        nodes, "custom", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]),
        folder / "model.onnx")
    x = rng.standard_normal((BATCH, STEPS, CHANNELS)).astype(np.float32)
    u = x @ w
    h = linear_scan(x, 1 / (1 + np.exp(-u)))
    np.save(folder / "x.npy", x)
    np.savez(folder / "expected.npz", y=softcap(h + u, 2) * u)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
