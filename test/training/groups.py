"""Writes a network with group norms as exporters write them, after a
convolution, after a sum with a number per sample and channel, and after a
residual, and a file for --train. The first one is an instance norm.

    groups.py FOLDER
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
batch, width, size, classes = 8, 32, 32, 6
random = np.random.default_rng(0)
info, node = helper.make_tensor_value_info, helper.make_node
weights, nodes = [], []


def weight(name, *shape, scale=1):
    values = random.standard_normal(shape) * scale
    weights.append(numpy_helper.from_array(values.astype(np.float32), name))
    return name


def constant(name, values):
    nodes.append(node("Constant", [], [name],
                      value=numpy_helper.from_array(np.array(values))))
    return name


def norm(x, name, groups):
    """Reshape, InstanceNormalization, Reshape, Mul, Add, then SiLU."""
    rows = constant(name + ".rows", np.array([0, groups, -1]))
    ones = constant(name + ".ones", np.ones(groups, np.float32))
    zeros = constant(name + ".zeros", np.zeros(groups, np.float32))
    nodes.extend([
        node("Reshape", [x, rows], [name + ".r"]),
        node("InstanceNormalization", [name + ".r", ones, zeros],
             [name + ".n"], name, epsilon=1e-3),
        node("Shape", [x], [name + ".shape"]),
        node("Reshape", [name + ".n", name + ".shape"], [name + ".b"]),
        node("Mul", [name + ".b", weight(name + ".weight", width, 1, 1)],
             [name + ".m"]),
        node("Add", [name + ".m", weight(name + ".bias", width, 1, 1)],
             [name + ".a"]),
        node("Sigmoid", [name + ".a"], [name + ".s"]),
        node("Mul", [name + ".a", name + ".s"], [name + ".y"])])
    return name + ".y"


def conv(x, name, channels):
    nodes.append(node("Conv", [
        x, weight(name + ".weight", width, channels, 1, 1, scale=channels ** -0.5),
        weight(name + ".bias", width)], [name], name))
    return name


first = conv("x", "conv1", 8)
second = conv(norm(first, "norm1", width), "conv2", width)
nodes.append(node("Add", [second, "t"], ["timed"]))
third = conv(norm("timed", "norm2", 8), "conv3", width)
nodes.append(node("Add", [third, first], ["sum"]))
nodes.extend([node("GlobalAveragePool", [norm("sum", "norm3", 4)], ["p"], "pool"),
              node("Flatten", ["p"], ["f"], "flat"),
              node("Gemm", ["f", weight("fc.weight", classes, width)], ["y"], "fc",
                   transB=1)])
graph = helper.make_graph(
    nodes, "groups", [info("x", TensorProto.FLOAT, (batch, 8, size, size)),
                      info("t", TensorProto.FLOAT, (batch, width, 1, 1))],
    [info("y", TensorProto.FLOAT, (batch, classes))], weights)
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "groups.onnx")
(folder / "groups.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"},
     "optimizer": {"kind": "sgd", "learning_rate": 1}}))
