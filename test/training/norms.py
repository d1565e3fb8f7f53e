"""Writes a network with layer norms, over enough rows that the gradients of
their scales and biases are summed in parts, and a file for --train.

    norms.py FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
rows, width, classes = 3200, 256, 6
random = np.random.default_rng(0)
info = helper.make_tensor_value_info


def weight(name, *shape):
    values = random.standard_normal(shape) / shape[-1] ** 0.5
    return numpy_helper.from_array(values.astype(np.float32), name)


nodes = [helper.make_node("MatMul", ["x", "w1"], ["p"], "in"),
         helper.make_node("Add", ["p", "b1"], ["h"], "bias"),
         helper.make_node("LayerNormalization", ["h", "g1", "c1"], ["n"],
                          "norm1", axis=-1),
         helper.make_node("Tanh", ["n"], ["t"], "squash"),
         helper.make_node("Add", ["t", "h"], ["s"], "residual"),
         helper.make_node("LayerNormalization", ["s", "g2", "c2"], ["m"],
                          "norm2", axis=-1),
         helper.make_node("MatMul", ["m", "w2"], ["y"], "out")]
graph = helper.make_graph(
    nodes, "norms", [info("x", TensorProto.FLOAT, (rows, width))],
    [info("y", TensorProto.FLOAT, (rows, classes))],
    [weight("w1", width, width), weight("b1", width), weight("g1", width),
     weight("c1", width), weight("g2", width), weight("c2", width),
     weight("w2", width, classes)])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "norms.onnx")
(folder / "norms.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"},
     "optimizer": {"kind": "sgd", "learning_rate": 1}}))
