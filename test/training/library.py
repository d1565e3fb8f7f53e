"""Writes networks whose gradients a GPU's libraries compute into a folder."""

import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

random = np.random.default_rng(3)


def write(folder, name, nodes, inputs, weights, classes):
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    batch = next(iter(inputs.values()))[0]
    graph = helper.make_graph(
        nodes,
        name,
        [value(n, s) for n, s in inputs.items()],
        [value("y", [batch, classes])],
        [
            numpy_helper.from_array(
                (random.standard_normal(s) / 8).astype(np.float32), n
            )
            for n, s in weights.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8)
    save(model, f"{folder}/{name}.onnx")


def convs(folder):
    """A stem, a strided convolution in groups, and one whose pads differ."""
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "stem", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node(
            "Conv", ["b", "w1"], ["c"], "groups", pads=[1] * 4, strides=[2, 2], group=2
        ),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w2"], ["e"], "uneven", pads=[0, 0, 1, 1]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["y"]),
    ]
    weights = {"w0": [16, 8, 3, 3], "w1": [32, 8, 3, 3], "w2": [10, 32, 3, 3]}
    write(folder, "convs", nodes, {"x": [4, 8, 16, 16]}, weights, 10)


if __name__ == "__main__":
    convs(sys.argv[1])
    with open(f"{sys.argv[1]}/train.json", "w") as file:
        json.dump({"loss": {"kind": "cross_entropy"},
                   "optimizer": {"kind": "sgd"}}, file)
