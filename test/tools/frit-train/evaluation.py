"""eval_loss, eval_accuracy and metrics of data of every size beside NumPy's:
evaluation.py FOLDER"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(sys.argv[1])
BATCH, LENGTH, WIDTH, CLASSES, MOST = 6, 3, 4, 5, 13
random = np.random.default_rng(0)
W = random.normal(0, 1, (WIDTH, CLASSES)).astype(np.float32)
X = random.standard_normal((MOST, LENGTH, WIDTH)).astype(np.float32)
LABELS = random.integers(0, CLASSES, (MOST, LENGTH))
# Most labels of the first samples are ignored, and all of sample 8.
LABELS[:5, 1:] = -100
LABELS[8] = -100
TARGET = random.standard_normal((MOST, LENGTH, CLASSES)).astype(np.float32)
Y = X.astype(np.float64) @ W
SIZE = np.abs(Y).mean((1, 2))
SQUARES = ((Y - TARGET) ** 2).mean((1, 2))
LOGS = Y - np.log(np.exp(Y).sum(-1, keepdims=True))
COUNTS = LABELS >= 0
ROWS = np.where(COUNTS, -np.take_along_axis(LOGS, np.maximum(LABELS, 0)[..., None], -1)[..., 0], 0)
RIGHT = (Y.argmax(-1) == LABELS) & COUNTS


def write(kind):
    """The logits, their mean size and the number 7; for `output` a loss and no logits."""
    info, node = helper.make_tensor_value_info, helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["logits"], "fc"), node("Abs", ["logits"], ["a"]),
             node("ReduceMean", ["a"], ["size"], keepdims=0), node("Identity", ["seven"], ["number"])]
    inputs, outputs = [info("x", TensorProto.FLOAT, (BATCH, LENGTH, WIDTH))], [info("size", TensorProto.FLOAT, ())]
    if kind == "output":
        nodes += [node("Sub", ["logits", "target"], ["d"]), node("Mul", ["d", "d"], ["q"]),
                  node("ReduceMean", ["q"], ["loss"], keepdims=0)]
        inputs.append(info("target", TensorProto.FLOAT, (BATCH, LENGTH, CLASSES)))
        outputs.append(info("loss", TensorProto.FLOAT, ()))
    else:
        outputs += [info("logits", TensorProto.FLOAT, (BATCH, LENGTH, CLASSES)), info("number", TensorProto.INT64, ())]
    graph = helper.make_graph(nodes, kind, inputs, outputs,
                              [numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.int64(7), "seven")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / f"{kind}.onnx")
    loss = {"kind": kind, "output": "loss" if kind == "output" else "logits"}
    (FOLDER / "train.json").write_text(json.dumps({"loss": loss, "optimizer": {"kind": "sgd", "learning_rate": 0}}))
    subprocess.run(["fritc", f"{kind}.onnx", "--train=train.json", "-march=x86-64-v3", "-o", "step.so"], cwd=FOLDER, check=True)


for kind in "cross_entropy", "mse", "output":
    write(kind)
    data = {"x": X, "labels": LABELS} if kind == "cross_entropy" else {"x": X, "target": TARGET}
    np.savez(FOLDER / "train.npz", **data)
    for size in range(1, MOST + 1):
        np.savez(FOLDER / "test.npz", **{n: v[:size] for n, v in data.items()})
        (FOLDER / "log.jsonl").unlink(missing_ok=True)
        subprocess.run(["frit-train", "step.so", "--device=cpu", "--data=train.npz", "--eval=test.npz", "--steps=1", "--no-shuffle",
                        "--log=log.jsonl", "--log-every=1"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
        step, found = map(json.loads, (FOLDER / "log.jsonl").read_text().splitlines())
        isLabelled = kind == "cross_entropy"
        loss = ROWS[:size].sum() / max(COUNTS[:size].sum(), 1) if isLabelled else SQUARES[:size].mean()
        np.testing.assert_allclose(found["eval_loss"], loss, rtol=1e-5, err_msg=f"{kind} {size}")
        np.testing.assert_allclose(found["eval_size"], SIZE[:size].mean(), rtol=1e-5)
        np.testing.assert_allclose(step["size"], SIZE[:BATCH].mean(), rtol=1e-5)
        assert "eval_loss_count" not in found
        if isLabelled:
            np.testing.assert_allclose(found["eval_accuracy"], RIGHT[:size].sum() / COUNTS[:size].sum())
        if kind != "output":
            np.testing.assert_allclose([step["number"], found["eval_number"]], 7)
    print(f"{kind}: {MOST} sizes of data")
