"""Writes what the tests of messages read: a network and files for --train.

    messages.py FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
info = helper.make_tensor_value_info


def model(name, operator, outputs=("y",), weight=np.ones((4, 6), np.float32)):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "fc"),
             *(helper.make_node(operator, ["h"], [o], f"last/{o}")
               for o in outputs)]
    kind = helper.np_dtype_to_tensor_dtype(weight.dtype)
    graph = helper.make_graph(
        nodes, name, [info("x", kind, (2, 4))],
        [info(o, kind, None) for o in outputs],
        [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        folder / f"{name}.onnx")


model("fits", "Identity")
graph = helper.make_graph(
    [helper.make_node("GlobalAveragePool", ["image"], ["y"])], "images",
    [info("image", TensorProto.FLOAT, (2, 3, 8, 8))], [info("y", TensorProto.FLOAT, None)], [])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "images.onnx")
model("two", "Identity", ("a", "b"))
model("half", "Identity", weight=np.ones((4, 6), np.float16))
model("hardmax", "Hardmax")


# Its loss depends on every pixel.
graph = helper.make_graph(
    [helper.make_node("Mul", ["image", "v"], ["m"]), helper.make_node("Mul", ["m", "m"], ["y"])], "filter",
    [info("image", TensorProto.FLOAT, (2, 3, 8, 8))], [info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.array([[[0.5]], [[1]], [[-2]]], np.float32), "v")])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "filter.onnx")


def chain(name, *nodes, **weights):
    """Writes nodes from `x`, each of which reads the one before, to `y`."""
    values = ["x", *(node.output[0] for node in nodes[:-1])]
    for node, value in zip(nodes, values):
        node.input.insert(0, value)
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes, name, [info("x", TensorProto.FLOAT, (2, 4))],
        [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        folder / f"{name}.onnx")


def node(operator, name, *inputs, **attributes):
    return helper.make_node(operator, list(inputs), [name + "_out"], name, **attributes)


ones, square = np.ones((4, 6), np.float32), np.ones((6, 6), np.float32)
quantization = {"scale": np.array(0.1, np.float32), "zero": np.array(0, np.int8)}
float_type = TensorProto.FLOAT
chain("round", node("MatMul", "fc", "w"), node("Relu", "act"), node("Round", "grid"),
      node("Tanh", "squash"), w=ones)
# Only the second layer trains, as the operator's result has no gradient.
chain("stepped", node("MatMul", "fc", "w"), node("Add", "offset", "b"),
      node("Round", "grid"), node("MatMul", "fc2", "w2"), w=ones,
      b=np.ones(6, np.float32), w2=square)
chain("quantized", node("MatMul", "fc", "w"),
      node("QuantizeLinear", "to8", "scale", "zero"),
      node("DequantizeLinear", "from8", "scale", "zero"),
      node("MatMul", "fc2", "w2"), w=ones, w2=square, **quantization)
chain("integers", node("MatMul", "fc", "w"), node("Cast", "whole", to=TensorProto.INT32),
      node("Cast", "real", to=float_type), node("MatMul", "fc2", "w2"), w=ones, w2=square)
chain("largest", node("MatMul", "fc", "w"), node("ArgMax", "index", axis=1),
      node("Cast", "real", to=float_type), node("MatMul", "fc2", "w2"), w=ones,
      w2=np.ones((1, 6), np.float32))

graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", weight], [output])
     for weight, output in (("w", "a"), ("v", "b"))], "heads",
    [info("x", TensorProto.FLOAT, (2, 4))],
    [info(output, TensorProto.FLOAT, None) for output in "ab"],
    [numpy_helper.from_array(ones, weight) for weight in "wv"])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "heads.onnx")

graph = helper.make_graph(
    [helper.make_node("Gather", ["table", "rows"], ["h"], "pick"),
     helper.make_node("MatMul", ["h", "w"], ["y"], "fc")], "table",
    [info("rows", TensorProto.INT64, (2,))], [info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.zeros((5, 4), np.float32), "table"),
     numpy_helper.from_array(
         np.arange(-1200, 1200, 100, dtype=np.float32).reshape(4, 6), "w")])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "table.onnx")

loss, sgd = {"kind": "cross_entropy"}, {"kind": "sgd"}
for name, config in {
        "fits": {"loss": loss, "optimizer": sgd},
        "table": {"loss": loss, "optimizer": sgd, "freeze": ["w"]},
        "overflow": {"loss": loss, "optimizer": {"kind": "adamw"}, "clip_norm": 1,
                     "loss_scale": {"interval": 3}},
        "decay": {"loss": loss,
                  "optimizer": {"kind": "sgd", "no_decay": ["*.bias"]}},
        "near": {"loss": loss, "optimizer": sgd, "recompute": ["lsat*"]},
        "clips": {"loss": loss, "optimizer": sgd, "clip_norm": 1, "clip_value": 1},
        "ema": {"loss": loss, "optimizer": sgd, "ema": {"decay": 1}},
        "ema0": {"loss": loss, "optimizer": sgd, "ema": {"decay": 0}},
        "weights": {"loss": {**loss, "class_weights": [1, -1]}, "optimizer": sgd},
        "classes": {"loss": {**loss, "class_weights": [1, 2, 3]}, "optimizer": sgd},
        "groups": {"loss": loss, "optimizer": {"kind": "sgd", "groups": {"match": ["w"]}}},
        "group": {"loss": loss, "optimizer": {"kind": "sgd", "groups": [{"learning_rate_factor": 2}]}},
        "factor": {"loss": loss, "optimizer": {"kind": "sgd", "groups": [{"match": ["w"], "learning_rate_factor": -1}]}},
        "rategroup": {"loss": loss, "optimizer": {"kind": "sgd", "groups": [{"match": ["w"], "learning_rate": 1}]}},
        "nogroup": {"loss": loss, "optimizer": {"kind": "sgd", "groups": [{"match": ["w"]}, {"match": ["wieght"]}]}},
        "nolosses": {"loss": [], "optimizer": sgd},
        "noname": {"loss": [loss], "optimizer": sgd},
        "samename": {"loss": [{**loss, "name": "main"}, {**loss, "name": "main"}], "optimizer": sgd},
        "ownname": {"loss": [{**loss, "name": "loss"}], "optimizer": sgd},
        "outname": {"loss": [{**loss, "name": "a", "output": "a"}, {**loss, "name": "c", "output": "b"}], "optimizer": sgd},
        "targets": {"loss": [{**loss, "name": "c", "output": "a"}, {"kind": "mse", "name": "d", "output": "b", "target": "labels"}], "optimizer": sgd},
        "several": {"loss": [{**loss, "name": "c", "output": "a"}, {**loss, "name": "d", "output": "b"}], "optimizer": sgd, "accumulate": 2},
        "weighty": {"loss": [{**loss, "name": "c", "weight": "high"}], "optimizer": sgd},
        **{f"augment_{name}": {"loss": loss, "optimizer": sgd, "augment": [{"input": "image", **a}]} for name, a in {
            "input": {"input": "imag"}, "small": {"height": 7}, "mean": {"mean": [0.5]}, "std": {"std": [1, 0, 1]},
            "flip": {"flip": 2}, "key": {"crop": 8}}.items()},
        "augment_x": {"loss": loss, "optimizer": sgd, "augment": [{"input": "x"}]},
        "augment_none": {"loss": loss, "optimizer": sgd, "augment": [{"flip": 0.5}]},
        "list": [],
        "nul": {"loss": {**loss, "target": "a\0b"}, "optimizer": sgd},
        "beyond": {"loss": loss, "optimizer": {"kind": "sgd", "learning_rate": 1e308}},
        "unknown": {"loss": loss, "optimizer": {"kind": "sgd", "beta3": 1}},
        "misspelt": {"loss": loss, "optimizer": {"kind": "sgd", "lerning_rate": 1}},
        "beta": {"loss": loss, "optimizer": {"kind": "adam", "beta2": 1}},
        "backoff": {"loss": loss, "optimizer": sgd, "loss_scale": {"backoff": 0}},
        "huge": {"loss": {**loss, "ignore_index": 2**64 - 1}, "optimizer": sgd},
        "nameless": {"loss": {**loss, "target": ""}, "optimizer": sgd},
        "typo": {"loss": loss, "optimizer": sgd, "freeze": ["w", "wieght"]},
        "kind": {"loss": loss, "optimizer": {"kind": "adan"}},
        "range": {"loss": {**loss, "label_smoothing": 2}, "optimizer": sgd},
        "pattern": {"loss": loss, "optimizer": sgd, "train": "*"},
        "missing": {"loss": loss},
        "dropout": {"loss": loss, "optimizer": sgd, "dropout": [{"after": ["h", "fd"]}]},
        "rate": {"loss": loss, "optimizer": sgd, "dropout": [{"after": ["h"], "rate": 1.5}]},
        "again": {"loss": loss, "optimizer": sgd, "recompute": ["layer*"]},
        "often": {"loss": loss, "optimizer": sgd, "recompute": "always"},
        "after": {"loss": loss, "optimizer": sgd, "dropout": [{"rate": 0.1}]},
        "output": {"loss": {**loss, "output": "z"}, "optimizer": sgd},
        "mean": {"loss": {**loss, "mean": "some"}, "optimizer": sgd},
        "count": {"loss": {"kind": "output", "count": "tokens"}, "optimizer": sgd},
        "counts": {"loss": {"kind": "output", "count": "y"}, "optimizer": sgd},
        "target": {"loss": {**loss, "target": "x"}, "optimizer": sgd},
        "axis": {"loss": {**loss, "axis": 2}, "optimizer": sgd},
        "head": {"loss": {**loss, "output": "a"}, "optimizer": sgd},
        "beneath": {"loss": loss, "optimizer": sgd, "freeze": ["w", "b"]},
        "frozen": {"loss": loss, "optimizer": sgd, "freeze": ["*"]},
        "unmatched": {"loss": loss, "optimizer": sgd, "train": ["v"]},
}.items():
    (folder / f"{name}.json").write_text(json.dumps(config))
(folder / "twice.json").write_text(
    '{"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd"}, "loss": {"kind": "mse"}}')
(folder / "broken.json").write_text('{"loss": ')
(folder / "end.json").write_bytes(b'{"loss": {"kind": "mse"}}\n\0')
# Products of `big` are beyond what fits into 16 bits.
np.save(folder / "big.npy", np.full((2, 4), 4e4, np.float32))
np.savez(folder / "big.npz", x=np.full((4, 4), 4e4, np.float32), labels=np.arange(4))
# Gradients beyond what a rate of 1e38 leaves in 32 bits.
np.savez(folder / "steep.npz", x=np.full((4, 4), 1e2, np.float32), labels=np.arange(4))
# Row 0 in the first step and in the last.
np.savez(folder / "rows.npz", rows=np.array([0, 0, 1, 1, 2, 2, 3, 3, 0, 0]),
         labels=np.arange(10) % 6)
random = np.random.default_rng(0)
np.savez(folder / "small.npz", x=random.standard_normal((64, 4)).astype(np.float32),
         labels=random.integers(0, 6, 64))
