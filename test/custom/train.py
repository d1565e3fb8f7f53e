"""Trains a weight before both operators, and compares the step with differences.

    train.py write|check FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from make import linear_scan, softcap

SHAPE, RATE = (2, 5, 6), 0.5


def data():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32)
            for shape in (SHAPE, SHAPE, (6, 6), (6, 6))]


def loss(x, target, w):
    u = x.astype(np.float64) @ w
    h = linear_scan(u, 1 / (1 + np.exp(-u)))
    return ((-softcap(h, 2) - target) ** 2).mean()


def write(folder):
    _, _, w, _ = data()
    info = helper.make_tensor_value_info
    custom = {"domain": "com.example"}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["u"], "fc"),
             helper.make_node("Sigmoid", ["u"], ["a"], "gate"),
             helper.make_node("LinearScan", ["u", "a"], ["h"], "scan", **custom),
             helper.make_node("Softcap", ["h"], ["c"], "cap", limit=2.0, **custom),
             helper.make_node("Neg", ["c"], ["y"], "last")]
    graph = helper.make_graph(nodes, "trains", [info("x", TensorProto.FLOAT, SHAPE)],
                              [info("y", TensorProto.FLOAT, SHAPE)],
                              [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]),
        folder / "trains.onnx")
    (folder / "train.json").write_text(json.dumps(
        {"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd", "learning_rate": RATE}}))
    here = Path(__file__).resolve().parent
    for name in ("softcap", "scan"):
        spec = json.loads((here / f"{name}.json").read_text())
        del spec["gradient"]
        for target in ("cuda", "host"):
            spec[target]["file"] = str(here / spec[target]["file"])
        (folder / f"plain_{name}.json").write_text(json.dumps(spec))


def check(folder):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
    from runtime import Step
    x, target, w, way = data()
    step = Step(folder / "step.so")
    step.write(learning_rate=np.float32(RATE))
    got = step.train(x=x, target=target)["loss"]
    gradient = (w - step.read("w")["w"]) / RATE
    step.close()
    e = 1e-5
    wanted = (loss(x, target, w + e * way.astype(np.float64)) -
              loss(x, target, w - e * way.astype(np.float64))) / (2 * e)
    assert abs(got - loss(x, target, w)) < 1e-5 * got, got
    assert abs((gradient * way).sum() - wanted) < 1e-4 * abs(wanted), (
        (gradient * way).sum(), wanted)
    print("gradients agree")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*map(Path, sys.argv[2:]))
