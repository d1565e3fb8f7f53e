"""Losses of models that end with softmax or sigmoid: heads.py FOLDER

Cross-entropy and `bce_with_logits` take logits, so they read what a softmax
along the classes or a sigmoid reads. All else is what the model computes.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from runtime import Step

FOLDER = Path(sys.argv[1])
random = np.random.default_rng(0)
X = random.standard_normal((4, 3, 5)).astype(np.float32) * 2


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross_entropy(y, labels, axis):
    y = np.moveaxis(np.log(softmax(y.astype(np.float64), axis)), axis, -1)
    return -np.take_along_axis(y, labels[..., None], -1).mean()


def check(name, nodes, loss, logits=None):
    """The loss of `logits`, a value of the model; by default of its output. `nodes` are
    behind the product x · w."""
    shapes = onnx.shape_inference.infer_shapes
    info = helper.make_tensor_value_info
    weight = onnx.numpy_helper.from_array(np.eye(5, dtype=np.float32) + np.float32(0.1), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"], "fc")] + [
        helper.make_node(kind, [source], [result], **attributes) for kind, source, result, attributes in nodes]
    last = nodes[-1].output[0]

    def model(outputs):
        graph = helper.make_graph(nodes, name, [info("x", TensorProto.FLOAT, X.shape)],
                                  [info(o, TensorProto.FLOAT, None) for o in outputs], [weight])
        return shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    onnx.save(model([last]), FOLDER / f"{name}.onnx")
    y = ReferenceEvaluator(model([logits or last])).run(None, {"x": X})[0]
    axis = loss.get("axis", -1)
    if loss["kind"] == "cross_entropy":
        labels = random.integers(0, y.shape[axis], np.delete(y.shape, axis))
        inputs, expected = {"labels": labels}, cross_entropy(y, labels, axis)
    else:
        target = random.random(y.shape).astype(np.float32)
        inputs, p = {"target": target}, 1 / (1 + np.exp(-y.astype(np.float64)))
        expected = -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean()
    (FOLDER / f"{name}.json").write_text(json.dumps({"loss": loss, "optimizer": {"kind": "sgd", "learning_rate": 0}}))
    subprocess.run(["fritc", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3", FOLDER / f"{name}.onnx",
                    "-o", FOLDER / f"{name}.so"], check=True)
    step = Step(FOLDER / f"{name}.so")
    for got in step.train(x=X, **inputs)["loss"], step.evaluate(x=X, **inputs)["loss"]:
        assert abs(got / expected - 1) < 1e-5, (name, got, expected)
    step.close()


last, second = {"kind": "cross_entropy"}, {"kind": "cross_entropy", "axis": 1}
bce = {"kind": "bce_with_logits"}
check("own", [("Softmax", "z", "p", {"axis": -1})], last, "z")
check("positive", [("Softmax", "z", "p", {"axis": 2})], last, "z")
check("columns", [("Softmax", "z", "p", {"axis": 1})], second, "z")
check("other", [("Softmax", "z", "p", {"axis": 1})], last)
check("batch", [("Softmax", "z", "p", {"axis": 0})], second)
check("twice", [("Softmax", "z", "q", {"axis": -1}), ("Softmax", "q", "p", {"axis": -1})], last, "q")
check("crossed", [("Softmax", "z", "q", {"axis": -1}), ("Softmax", "q", "p", {"axis": 1})], last)
check("logs", [("LogSoftmax", "z", "p", {"axis": -1})], last)
check("otherlogs", [("LogSoftmax", "z", "p", {"axis": 1})], last)
check("moved", [("Softmax", "z", "q", {"axis": 1}), ("Transpose", "q", "p", {"perm": [0, 2, 1]})], second)
check("sigmoid", [("Sigmoid", "z", "p", {})], bce, "z")
check("hard", [("HardSigmoid", "z", "p", {})], bce)
check("squashed", [("Sigmoid", "z", "q", {}), ("Sigmoid", "q", "p", {})], bce, "q")
check("sigmoids", [("Sigmoid", "z", "p", {})], last)
