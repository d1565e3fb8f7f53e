"""Batch norms that keep their running statistics while the network trains.

    frozen.py FOLDER

The network is y = n2(w2 · n1(w1 · x)) with two batch norms, the loss the mean
of (y - target)². A step must be that of NumPy's gradients, for each way to
freeze the second norm.
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
RATE, EPSILON, MOMENTUM = 0.25, 1e-5, 0.1
random = np.random.default_rng(0)
X = random.standard_normal((12, 6)).astype(np.float32)
TARGET = random.standard_normal((12, 4)).astype(np.float32)
LIVE, REST = ("aten._native_batch_norm_legit_functional.default",
              "aten._native_batch_norm_legit_no_training.default")


def make_weights():
    random = np.random.default_rng(1)
    draw = random.standard_normal
    weights = {"w1": draw((6, 5)), "w2": draw((5, 4))}
    for name, size in ("n1", 5), ("n2", 4):
        weights |= {f"{name}.weight": 1 + draw(size) / 4, f"{name}.bias": draw(size),
                    f"{name}.running_mean": draw(size), f"{name}.running_var": 1 + draw(size) ** 2}
    return {n: w.astype(np.float32) for n, w in weights.items()}


def write(name, modes=(0, 0), calls=(None, None), dropout=False, **options):
    """Writes the model, with training_mode of each norm, or as PyTorch's newer
    exporter, which records the module's call."""
    nodes, info = [], helper.make_tensor_value_info
    for i, (mode, call) in enumerate(zip(modes, calls), 1):
        source = "x" if i == 1 else "h1"
        nodes.append(helper.make_node("MatMul", [source, f"w{i}"], [f"m{i}"], f"fc{i}"))
        operands = [f"m{i}"] + [f"n{i}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        # In training mode the running statistics are results too.
        results = [f"h{i}"] + ([f"mean{i}", f"var{i}"] if mode else [])
        node = helper.make_node("BatchNormalization", operands, results, ["first", "second"][i - 1],
                                epsilon=EPSILON, momentum=1 - MOMENTUM,
                                **({} if call else {"training_mode": mode}))
        if call:
            entry = node.metadata_props.add()
            entry.key, entry.value = "pkg.torch.onnx.fx_node", f"%n : [num_users=1] = call_function[target=torch.ops.{call}]"
        nodes.append(node)
    if dropout:
        nodes.append(helper.make_node("Dropout", ["h2", "ratio", "on"], ["y"], "dropout"))
    weights = make_weights()
    graph = helper.make_graph(
        nodes, name, [info("x", TensorProto.FLOAT, X.shape)],
        [info("y" if dropout else "h2", TensorProto.FLOAT, TARGET.shape)],
        [numpy_helper.from_array(w, n) for n, w in weights.items()]
        + [numpy_helper.from_array(np.float32(0.5), "ratio"), numpy_helper.from_array(np.array(True), "on")][:2 * dropout])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
              FOLDER / f"{name}.onnx")
    (FOLDER / f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd", "learning_rate": RATE}, **options}))
    return weights


def gradients(w, frozen):
    """The loss and the gradients of all weights, in f64."""
    values = {}
    x = X.astype(np.float64)
    for i in 1, 2:
        n = f"n{i}"
        values[i, "x"] = x
        m = x @ w[f"w{i}"]
        isFrozen = n in frozen
        mean, var = ((w[f"{n}.running_mean"], w[f"{n}.running_var"]) if isFrozen
                     else (m.mean(0), m.var(0)))
        inverse = 1 / np.sqrt(var + EPSILON)
        values[i, "z"], values[i, "inverse"], values[i, "m"] = (m - mean) * inverse, inverse, m
        x = values[i, "z"] * w[f"{n}.weight"] + w[f"{n}.bias"]
    loss = ((x - TARGET) ** 2).mean()
    dx, found = 2 * (x - TARGET) / TARGET.size, {}
    for i in 2, 1:
        n, z, inverse = f"n{i}", values[i, "z"], values[i, "inverse"]
        found[f"{n}.weight"], found[f"{n}.bias"] = (dx * z).sum(0), dx.sum(0)
        dz = dx * w[f"{n}.weight"]
        dm = dz * inverse if n in frozen else inverse * (dz - dz.mean(0) - z * (dz * z).mean(0))
        found[f"w{i}"] = values[i, "x"].T @ dm
        dx = dm @ w[f"w{i}"].T
    return loss, found, values


def check(name, frozen, trained, **how):
    """Trains 3 steps. `frozen` norms keep their statistics, `trained` is every weight
    that moves."""
    weights = write(name, **how)
    subprocess.run(["fritc", FOLDER / f"{name}.onnx", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3",
                    "-Werror", "-o", FOLDER / f"{name}.so"], check=True)
    step = Step(FOLDER / f"{name}.so")
    w = {n: v.astype(np.float64) for n, v in weights.items()}
    for _ in range(3):
        loss, found, values = gradients(w, frozen)
        got = step.train(x=X, target=TARGET)["loss"]
        assert abs(got / loss - 1) < 1e-5, (name, got, loss)
        for n in found:
            if n in trained:
                w[n] -= RATE * found[n]
        for i in 1, 2:
            if f"n{i}" not in frozen:
                m = values[i, "m"]
                w[f"n{i}.running_mean"] += MOMENTUM * (m.mean(0) - w[f"n{i}.running_mean"])
                w[f"n{i}.running_var"] += MOMENTUM * (m.var(0, ddof=1) - w[f"n{i}.running_var"])
    state = step.read()
    moving = set(trained) | {f"n{i}.running_{of}" for i in (1, 2) for of in ("mean", "var") if f"n{i}" not in frozen}
    assert {*state} - {"learning_rate", "step"} == moving, (name, {*state} ^ moving)
    for n in moving:
        np.testing.assert_allclose(state[n], w[n], rtol=1e-4, atol=1e-5, err_msg=f"{name}: {n}")
    expected, _, _ = gradients(w, ("n1", "n2"))
    got = step.evaluate(x=X, target=TARGET)["loss"]
    assert abs(got / expected - 1) < 1e-4, (name, got, expected)
    step.close()


every = ["w1", "w2", "n1.weight", "n1.bias", "n2.weight", "n2.bias"]
check("none", (), every)
# The patterns that freeze a norm whole, and its statistics alone.
check("whole", ("n2",), every[:4], freeze=["n2.*"])
check("both", ("n1", "n2"), every[:2], freeze=["n?.*"])
check("statistics", ("n2",), every, freeze=["n2.running_*"])
check("variance", ("n2",), every, freeze=["n2.running_var"])
# Those of weight and bias leave the statistics alone.
check("affine", (), every[:4], freeze=["n2.weight", "n2.bias"])
# The file may say it: in the node, or in the metadata of PyTorch's newer exporter.
check("mixed", ("n2",), every, modes=(1, 0))
check("mixed", ("n2",), every, modes=(1, 0), train=["*"])
check("live", (), every, modes=(1, 1))
check("calls", ("n1",), every, calls=(REST, LIVE))
check("resting", (), every, calls=(REST, REST))
write("dropout", dropout=True)
write("mixed", modes=(1, 0))
