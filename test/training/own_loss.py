"""Trains by a loss that the model computes: own_loss.py FOLDER

The mean of squares as an output is the same as `mse` of a target of zeros.
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
X = random.standard_normal((8, 6)).astype(np.float32)
W = random.standard_normal((6, 3)).astype(np.float32)


def compile(name, loss, *precision):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "fc"),
         helper.make_node("Mul", ["y", "y"], ["squares"], "square"),
         helper.make_node("ReduceMean", ["squares"], ["loss"], "mean", keepdims=0)],
        name, [info("x", TensorProto.FLOAT, X.shape)],
        [info("y", TensorProto.FLOAT, (8, 3)),
         info("squares", TensorProto.FLOAT, (8, 3))]
        + ([info("loss", TensorProto.FLOAT, ())] if loss["output"] == "loss" else []),
        [numpy_helper.from_array(W, "w")])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
        FOLDER / f"{name}.onnx")
    (FOLDER / f"{name}.json").write_text(json.dumps(
        {"loss": loss, "optimizer": {"kind": "sgd", "learning_rate": 0.1}}))
    subprocess.run(["fritc", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3",
                    *precision, FOLDER / f"{name}.onnx", "-o",
                    FOLDER / f"{name}.so"], check=True)
    return Step(FOLDER / f"{name}.so")


target = np.zeros((8, 3), np.float32)
for precision in ([], ["-fprecision=amp-bf16"]):
    mse = compile("mse", {"kind": "mse", "output": "y"}, *precision)
    whole = compile("whole", {"kind": "output", "output": "loss"}, *precision)
    # Elements of which the loss is the mean.
    parts = compile("parts", {"kind": "output", "output": "squares"}, *precision)
    for _ in range(4):
        expected = mse.train(x=X, target=target)["loss"]
        for step in (whole, parts):
            loss = step.train(x=X)["loss"]
            assert abs(loss / expected - 1) < (1e-2 if precision else 1e-6)
    for step in (whole, parts):
        np.testing.assert_allclose(step.read("w")["w"], mse.read("w")["w"],
                                   rtol=1e-2 if precision else 1e-5, atol=1e-4)
# The loss stands once among the outputs.
found = whole.evaluation.info.outputs
assert [o.name for o in found] == ["loss", "y", "squares"], found
print("right")
