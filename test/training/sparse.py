"""Weights of which two of four stay zero while the network trains.

    sparse.py FOLDER

The network is y = relu(x · w1) · w2, the loss the mean of (y - target)². w1 is
pruned, w2 ends the model. Steps must be those of NumPy with w1's zeros kept, and
the trained w1 must be 2:4 sparse for the compiler.
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
RATE = 0.25
random = np.random.default_rng(0)
X = random.standard_normal((12, 64)).astype(np.float32)
TARGET = random.standard_normal((12, 4)).astype(np.float32)
WEIGHTS = {"w1": random.standard_normal((64, 256)) / 8, "w2": random.standard_normal((256, 4)) / 16,
           "bias": np.zeros(256)}


def write(name, weights, **optimizer):
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["m"], "first"),
             helper.make_node("Add", ["m", "bias"], ["a"]), helper.make_node("Relu", ["a"], ["h"]),
             helper.make_node("MatMul", ["h", "w2"], ["y"], "last")]
    graph = helper.make_graph(
        nodes, name, [info("x", TensorProto.FLOAT, X.shape)], [info("y", TensorProto.FLOAT, TARGET.shape)],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
              FOLDER / f"{name}.onnx")
    (FOLDER / f"{name}.json").write_text(json.dumps({"loss": {"kind": "mse"}, "optimizer": optimizer}))


def keep(weight):
    """Whether an element is of the two largest of four along k."""
    groups = np.abs(weight).reshape(-1, 4, weight.shape[1])
    order = np.argsort(-groups, axis=1, kind="stable")
    return (np.argsort(order, axis=1) < 2).reshape(weight.shape)


def compiled(name, *options):
    subprocess.run(["fritc", FOLDER / f"{name}.onnx", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3",
                    "-Werror", *options, "-o", FOLDER / f"{name}.so"], check=True)
    return Step(FOLDER / f"{name}.so")


write("sgd", WEIGHTS, kind="sgd", learning_rate=RATE)
step, mask = compiled("sgd", "-fsparse=2:4:magnitude"), keep(WEIGHTS["w1"])
w = {n: v.astype(np.float32).astype(np.float64) for n, v in WEIGHTS.items()}
w["w1"] *= mask
for _ in range(4):
    a = X @ w["w1"] + w["bias"]
    h = np.maximum(a, 0)
    y = h @ w["w2"]
    got, loss = step.train(x=X, target=TARGET)["loss"], ((y - TARGET) ** 2).mean()
    assert abs(got / loss - 1) < 1e-5, (got, loss)
    dy = 2 * (y - TARGET) / TARGET.size
    da = (dy @ w["w2"].T) * (a > 0)
    w["w2"] -= RATE * (h.T @ dy)
    w["w1"] -= RATE * (X.T @ da) * mask
    # Zeros of a bias are no pruned weights.
    w["bias"] -= RATE * da.sum(0)
state = step.read()
for name, value in w.items():
    np.testing.assert_allclose(state[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
assert (state["bias"] != 0).any()
step.close()
print("sgd: keeps zeros")

# With moments and weight decay, in a bucket of its own.
write("adamw", WEIGHTS, kind="adamw", learning_rate=0.01, weight_decay=0.1)
step = compiled("adamw", "-fsparse=2:4:magnitude")
for _ in range(4):
    step.train(x=X, target=TARGET)
state = step.read()
assert ((state["w1"] == 0) == ~mask).all()
assert (state["w1"] != WEIGHTS["w1"] * mask).any()
step.close()
write("trained", {n: state[n] for n in WEIGHTS}, kind="sgd", learning_rate=RATE)
compiled("trained", "-fsparse=2:4").close()
print("adamw: keeps zeros")
