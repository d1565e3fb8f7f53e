"""Values that PyTorch's newer exporter calls detached have no gradient, and
copies of a weight are the weight.

    detach.py FOLDER
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
X = np.random.default_rng(0).standard_normal(4).astype(np.float32)
W = np.ones(4, np.float32)


def compile(name, function, *precision):
    """(w · x) · copy (w · x) + Σ copy (w), whose copies stand for `function`."""
    info, node = helper.make_tensor_value_info, helper.make_node
    nodes = [node("Mul", ["w", "x"], ["y"]), node("Identity", ["y"], ["copy"]),
             node("Identity", ["w"], ["same"]), node("Mul", ["y", "copy"], ["z"]),
             node("Add", ["z", "same"], ["sum"]),
             node("ReduceSum", ["sum"], ["loss"], keepdims=0)]
    for n in nodes:
        n.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'y']")
    for n in nodes[1:3]:
        n.metadata_props.add(key="pkg.torch.onnx.class_hierarchy",
                             value=f"['Model', 'aten.{function}.default']")
    weight = info("w", TensorProto.FLOAT, W.shape)
    weight.metadata_props.add(
        key="pkg.torch.export.graph_signature.InputSpec.kind", value="PARAMETER")
    graph = helper.make_graph(
        nodes, name, [info("x", TensorProto.FLOAT, X.shape)],
        [info("loss", TensorProto.FLOAT, ())], [numpy_helper.from_array(W, "w")],
        value_info=[weight])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
        FOLDER / f"{name}.onnx")
    (FOLDER / "train.json").write_text(json.dumps(
        {"loss": {"kind": "output", "output": "loss"},
         "optimizer": {"kind": "sgd", "learning_rate": 0.1}}))
    subprocess.run(["fritc", f"--train={FOLDER}/train.json", "-march=x86-64-v3",
                    *precision, FOLDER / f"{name}.onnx", "-o",
                    FOLDER / f"{name}.so"], check=True)
    return Step(FOLDER / f"{name}.so")


def check(step, gradient, rtol):
    loss = step.train(x=X)["loss"]
    np.testing.assert_allclose(loss, np.sum(X * X + 1), rtol=rtol)
    np.testing.assert_allclose(step.read()["w"], W - 0.1 * gradient, rtol=rtol)


check(compile("alias", "clone"), 2 * X * X + 1, 1e-6)
check(compile("detached", "detach"), X * X, 1e-6)
check(compile("half", "detach", "-fprecision=amp-bf16"), X * X, 1e-2)
