"""Runs of several calls and ranks against one that has their batches together.

    means.py FOLDER

The batches have very different numbers of ignored labels. Weights must be those
of the whole batch to 1e-5; with "mean": "call" they are those of a mean of
means.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(sys.argv[1])
BATCH, LENGTH, WIDTH, CLASSES, STEPS = 16, 3, 6, 5, 4
random = np.random.default_rng(0)
W = random.normal(0, 0.5, (WIDTH, CLASSES)).astype(np.float32)
X = random.standard_normal((BATCH * STEPS, LENGTH, WIDTH)).astype(np.float32)
LABELS = random.integers(0, CLASSES, (BATCH * STEPS, LENGTH))
# Of each quarter of a batch a different share counts: all, none, one label, half.
for first in range(0, len(LABELS), BATCH):
    quarters = LABELS[first:first + BATCH].reshape(4, -1)
    quarters[1] = -100
    quarters[2, 1:] = -100
    quarters[3, ::2] = -100
np.savez(FOLDER / "data.npz", x=X, labels=LABELS)


def write():
    """class.onnx: logits. own.onnx: a loss by SoftmaxCrossEntropyLoss. counted.onnx: one
    of other nodes, with the number of labels. Both have the share of right answers."""
    info, node = helper.make_tensor_value_info, helper.make_node
    x, labels = info("x", TensorProto.FLOAT, ["batch", LENGTH, WIDTH]), info("labels", TensorProto.INT64, ["batch", LENGTH])
    product = node("MatMul", ["x", "w"], ["logits"], "fc")
    metric = [node("ArgMax", ["logits"], ["best"], axis=-1, keepdims=0),
              node("Equal", ["best", "labels"], ["right"]),
              node("Cast", ["right"], ["rights"], to=TensorProto.FLOAT),
              node("ReduceMean", ["rights"], ["accurate"], keepdims=0)]
    turned = node("Transpose", ["logits"], ["turned"], perm=[0, 2, 1])
    own = node("SoftmaxCrossEntropyLoss", ["turned", "labels"], ["loss"], ignore_index=-100)
    counted = [node("SoftmaxCrossEntropyLoss", ["turned", "labels"], ["rows"], reduction="none", ignore_index=-100),
               node("Equal", ["labels", "ignored"], ["isIgnored"]), node("Not", ["isIgnored"], ["counts"]),
               node("Cast", ["counts"], ["ones"], to=TensorProto.FLOAT),
               node("ReduceSum", ["ones"], ["tokens"], keepdims=0), node("ReduceSum", ["rows"], ["sum"], keepdims=0),
               node("Max", ["tokens", "one"], ["divisor"]), node("Div", ["sum", "divisor"], ["loss"])]
    scalar = lambda name: info(name, TensorProto.FLOAT, ())
    for name, nodes, inputs, outputs in (
            ("class", [product], [x], [info("logits", TensorProto.FLOAT, None)]),
            ("own", [product, turned, own] + metric, [x, labels], [scalar("loss"), scalar("accurate")]),
            ("counted", [product, turned] + counted, [x, labels], [scalar("loss"), scalar("tokens")])):
        graph = helper.make_graph(nodes, name, inputs, outputs, [
            numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.int64(-100), "ignored"),
            numpy_helper.from_array(np.float32(1), "one")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  FOLDER / f"{name}.onnx")


def train(model, batch, ranks, loss, *flags, accumulate=1):
    """Returns the weights after STEPS updates, and the log's lines."""
    settings = {"loss": loss, "optimizer": {"kind": "sgd", "learning_rate": 0.5, "momentum": 0.5},
                "accumulate": accumulate, "train": ["w"]}
    (FOLDER / f"{model}.json").write_text(json.dumps(settings))
    flags = [*flags, *(["-fdata-parallel"] if ranks > 1 else [])]
    subprocess.run(["fritc", f"{model}.onnx", f"--train={model}.json", f"-fshape=batch={batch}", "-march=x86-64-v3",
                    *flags, "-o", "step.so"], check=True, cwd=FOLDER)
    (FOLDER / "log.jsonl").unlink(missing_ok=True)
    subprocess.run(["frit-train", "step.so", "--device=cpu", "--data=data.npz", "--no-shuffle", "--epochs=1",
                    "--workers=1", "--threads=1", "--log=log.jsonl", "--log-every=1", "--export=w.safetensors",
                    *(["--devices=0-" + str(ranks - 1)] if ranks > 1 else [])],
                   check=True, cwd=FOLDER, stdout=subprocess.DEVNULL)
    data = (FOLDER / "w.safetensors").read_bytes()
    lines = [json.loads(line) for line in (FOLDER / "log.jsonl").read_text().splitlines()]
    return np.frombuffer(data[-W.nbytes:], np.float32).reshape(W.shape), [line for line in lines if "loss" in line]


def close(one, other, limit=1e-5):
    apart = np.abs(one[0] - other[0]).max() / np.abs(other[0]).max()
    assert apart < limit, apart
    if len(one[1]) == len(other[1]):
        losses = [[line["loss"] for line in run[1]] for run in (one, other)]
        np.testing.assert_allclose(*losses, rtol=limit)


def compare(model, loss):
    whole = train(model, BATCH, 1, loss)
    assert len(whole[1]) == STEPS
    close(train(model, BATCH // 2, 1, loss, accumulate=2), whole)
    close(train(model, BATCH // 2, 2, loss), whole)
    close(train(model, BATCH // 4, 2, loss, accumulate=2), whole)
    return whole


def gradient(w, x, labels):
    """That of the mean over the labels that count."""
    x, labels = x.reshape(-1, WIDTH).astype(np.float64), labels.reshape(-1)
    x, labels = x[labels >= 0], labels[labels >= 0]
    p = np.exp(x @ w)
    p = p / p.sum(1, keepdims=True) - np.eye(CLASSES)[labels]
    return x.T @ p / max(len(labels), 1)


def meanOfMeans(parts):
    w, m = W.astype(np.float64), 0
    for xs, labels in zip(X.reshape(STEPS, parts, -1, WIDTH), LABELS.reshape(STEPS, parts, -1)):
        m = 0.5 * m + np.mean([gradient(w, x, l) for x, l in zip(xs, labels)], 0)
        w = w - 0.5 * m
    return w, []


write()
kinds = {"kind": "cross_entropy"}
whole = compare("class", kinds)
close(whole, meanOfMeans(1))
print("cross_entropy: 2 calls, 2 ranks, 2 ranks of 2 calls: one batch")
close(train("class", BATCH // 4, 2, kinds, "-fshard-optimizer", accumulate=2), whole)
close(train("class", BATCH // 2, 2, kinds, "-fshard-optimizer"), whole)
close(train("class", BATCH // 2, 2, kinds, "-fcompress-gradients"), whole, 1e-2)
close(train("class", BATCH // 4, 2, kinds, "-fprecision=amp-fp16", accumulate=2), whole, 1e-2)
print("sharded, compressed, amp: one batch")
own = {"kind": "output", "output": "loss"}
# SoftmaxCrossEntropyLoss is NaN where no label counts; so is PyTorch's.
whole = compare("own", own)
close(whole, meanOfMeans(1))
print("own: 2 calls, 2 ranks, 2 ranks of 2 calls: one batch")
close(compare("counted", {**own, "count": "tokens"}), meanOfMeans(1))
print("counted: 2 calls, 2 ranks, 2 ranks of 2 calls: one batch")
call = {"kind": "cross_entropy", "mean": "call"}
close(train("class", BATCH // 2, 1, call, accumulate=2), meanOfMeans(2))
close(train("class", BATCH // 2, 2, call), meanOfMeans(2))
print("call: 2 calls, 2 ranks: means of means")
log = [line["accurate"] for line in whole[1]]
ranks = [line["accurate"] for line in train("own", BATCH // 2, 2, own)[1]]
np.testing.assert_allclose(ranks, log, atol=1e-6)
assert len(set(log)) > 1
print("metrics: of all ranks")
train("class", BATCH // 2, 2, kinds)
