"""The running statistics of a batch norm that is applied twice, with a momentum
of its own.

    running.py FOLDER
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
random = np.random.default_rng(0)
X = random.standard_normal((6, 3, 5)).astype(np.float32)


def compile(name, momentum, scale=(1, 2, 3), mode=0, **options):
    """Two norms with the same weights; ONNX's momentum is that of the old ones."""
    info, node = helper.make_tensor_value_info, helper.make_node
    weights = {"scale": np.float32(scale), "bias": np.float32([0, 1, -1]),
               "mean": np.float32([0.5, 0, 1]), "var": np.float32([1, 2, 1])}
    graph = helper.make_graph(
        [node("BatchNormalization", ["x", *weights], ["a"], "first",
              momentum=1 - momentum, training_mode=mode),
         node("Exp", ["a"], ["b"]),
         node("BatchNormalization", ["b", *weights], ["y"], "second",
              momentum=1 - momentum, training_mode=mode),
         node("ReduceMean", ["y"], ["loss"], keepdims=0)],
        name, [info("x", TensorProto.FLOAT, X.shape)],
        [info("loss", TensorProto.FLOAT, ())],
        [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
        FOLDER / f"{name}.onnx")
    (FOLDER / f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": "output", "output": "loss"},
         "optimizer": {"kind": "sgd", "learning_rate": 0}, **options}))
    subprocess.run(["fritc", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3",
                    FOLDER / f"{name}.onnx", "-o", FOLDER / f"{name}.so"], check=True)
    return Step(FOLDER / f"{name}.so"), weights


def check(name, momentum, used, **options):
    step, weights = compile(name, momentum, **options)
    expected = {n: weights[n].astype(np.float64) for n in ("mean", "var")}
    scale, bias = (weights[n][:, None] for n in ("scale", "bias"))
    first = X - X.mean((0, 2), keepdims=True)
    first /= np.sqrt(X.var((0, 2), keepdims=True) + 1e-5)
    b = np.exp(first * scale + bias)
    for _ in range(3):
        step.train(x=X)
        for seen in (X, b):
            now = {"mean": seen.mean((0, 2)), "var": seen.var((0, 2), ddof=1)}
            for n in expected:
                expected[n] += used * (now[n] - expected[n])
    assert {*weights} == {*step.read()} - {"learning_rate", "step"}
    for n in expected:
        np.testing.assert_allclose(step.read()[n], expected[n], rtol=1e-5)


check("own", 0.3, used=0.3)
check("usual", 0.1, used=0.1)
check("given", 0.3, used=0.5, batch_norm_momentum=0.5)
# The older exporter merges equal weights, but not for training.
check("merged", 0.3, used=0.3, scale=[2, 2, 2], mode=1)
