"""Writes networks whose gradients a GPU's libraries compute into a folder."""

import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

random = np.random.default_rng(3)


def write(folder, name, nodes, inputs, weights, classes, constants={}):
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
        ]
        + [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
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


def attention(folder, rows, hidden=0, projects=False):
    """Self-attention of two heads of 64 behind one projection: causal, or with a
    mask that hides the last keys. Before another projection if `projects`."""
    mask = np.triu(np.full((rows, rows), -np.inf, np.float32), 1)
    if hidden:
        mask = np.zeros((1, rows), np.float32)
        mask[:, -hidden:] = -np.inf
    constants = {
        "split": np.array([2, rows, 3, 2, 64]),
        "joined": np.array([2, rows, 128]),
        "scale": np.float32(0.125),
        "mask": mask,
    }
    nodes = [
        helper.make_node("MatMul", ["x", "wqkv"], ["p"], "qkv"),
        helper.make_node("Reshape", ["p", "split"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1, 4]),
        *(
            helper.make_node("Gather", ["t", f"i{i}"], [name], axis=0)
            for i, name in enumerate("qkv")
        ),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s0"], "attn/scores"),
        helper.make_node("Mul", ["s0", "scale"], ["s1"]),
        helper.make_node("Add", ["s1", "mask"], ["s2"]),
        helper.make_node("Softmax", ["s2"], ["s3"], "attn/softmax", axis=-1),
        helper.make_node("MatMul", ["s3", "v"], ["o"], "attn/values"),
        helper.make_node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["ot", "joined"], ["j"]),
    ]
    weights = {"wqkv": [128, 384], "wy": [128, 10]}
    name = f"masked{rows}" if hidden else f"attention{rows}"
    result = "j"
    if projects:
        nodes += [
            helper.make_node("MatMul", ["j", "wo"], ["u"], "out"),
            helper.make_node("Relu", ["u"], ["a"]),
        ]
        weights["wo"] = [128, 128]
        name = f"projected{rows}"
        result = "a"
    nodes += [
        helper.make_node("ReduceMean", [result], ["m"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["m", "wy"], ["y"], "head"),
    ]
    constants |= {f"i{i}": np.array(i) for i in range(3)}
    write(
        folder, name, nodes, {"x": [2, rows, 128]}, weights, 10, constants
    )


def shared(folder, rows):
    """Causal self-attention of four heads of 32; two each share keys and values."""
    constants = {
        "of_heads": np.array([2, rows, 4, 32]),
        "of_group": np.array([2, rows, 2, 32]),
        "one": np.array([2]),
        "pairs": np.array([2, 2, 2, rows, 32]),
        "each": np.array([2, 4, rows, 32]),
        "joined": np.array([2, rows, 128]),
        "scale": np.float32(0.125),
        "mask": np.triu(np.full((rows, rows), -np.inf, np.float32), 1),
    }
    nodes = []
    for name, shape in ("q", "of_heads"), ("k", "of_group"), ("v", "of_group"):
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}p"]),
            helper.make_node("Reshape", [f"{name}p", shape], [f"{name}r"]),
            helper.make_node("Transpose", [f"{name}r"], [f"{name}t"],
                             perm=[0, 2, 1, 3]),
        ]
    nodes += [
        *(
            node
            for name in "kv"
            for node in (
                helper.make_node("Unsqueeze", [f"{name}t", "one"], [f"{name}u"]),
                helper.make_node("Expand", [f"{name}u", "pairs"], [f"{name}p2"]),
                helper.make_node("Reshape", [f"{name}p2", "each"], [f"{name}e"]),
            )
        ),
        helper.make_node("Transpose", ["ke"], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["qt", "turned"], ["s0"]),
        helper.make_node("Mul", ["s0", "scale"], ["s1"]),
        helper.make_node("Add", ["s1", "mask"], ["s2"]),
        helper.make_node("Softmax", ["s2"], ["s3"], axis=-1),
        helper.make_node("MatMul", ["s3", "ve"], ["o"]),
        helper.make_node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["ot", "joined"], ["j"]),
        helper.make_node("ReduceMean", ["j"], ["m"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["m", "wy"], ["y"], "head"),
    ]
    weights = {"wq": [128, 128], "wk": [128, 64], "wv": [128, 64], "wy": [128, 10]}
    write(folder, "shared", nodes, {"x": [2, rows, 128]}, weights, 10, constants)


if __name__ == "__main__":
    convs(sys.argv[1])
    attention(sys.argv[1], 128)
    attention(sys.argv[1], 65)
    attention(sys.argv[1], 128, hidden=3)
    attention(sys.argv[1], 65, hidden=3)
    attention(sys.argv[1], 65, projects=True)
    shared(sys.argv[1], 128)
    for name, trained in ("train", ["w*"]), ("bias", ["w*", "mask"]):
        with open(f"{sys.argv[1]}/{name}.json", "w") as file:
            json.dump({"loss": {"kind": "cross_entropy"},
                       "optimizer": {"kind": "sgd"}, "train": trained}, file)
