"""Writes networks whose weights have several readers. equal.py FOLDER

equal.onnx is what PyTorch's exporter makes of equal weights in eval mode: they
are stored once and copied by Identity. merged.onnx is what its other exporter
makes of them: they are stored once. shared.onnx applies a layer twice.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
info = helper.make_tensor_value_info
node = helper.make_node


def save(name, nodes, **weights):
    x, y = (info(n, TensorProto.FLOAT, (4, WIDTH)) for n in "xy")
    graph = helper.make_graph(nodes, "net", [x], [y], [
        numpy_helper.from_array(array, weight.replace("_", ".", 1))
        for weight, array in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        folder / f"{name}.onnx")


# Wide enough for weights that are not stored inline.
WIDTH = 300
one, zero = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
eye = np.eye(WIDTH, dtype=np.float32)
save("equal",
     [node("Identity", ["norm.weight"], ["norm.running_var"]),
      node("Identity", ["norm.bias"], ["norm.running_mean"]),
      node("Identity", ["fc.weight"], ["tied"]),
      node("BatchNormalization", ["x", "norm.weight", "norm.bias",
                                  "norm.running_mean", "norm.running_var"], ["a"]),
      node("MatMul", ["a", "fc.weight"], ["b"]),
      node("MatMul", ["b", "tied"], ["y"])],
     norm_weight=one, norm_bias=zero, fc_weight=eye)
norms = [node("LayerNormalization", ["x", "norm.weight", "norm.bias"], ["a"]),
         node("LayerNormalization", ["a", "norm.weight", "norm.bias"], ["b"]),
         node("MatMul", ["b", "fc.weight"], ["c"])]
save("merged", [*norms, node("Identity", ["c"], ["y"])],
     norm_weight=one, norm_bias=zero, fc_weight=eye)
save("shared", [*norms, node("Add", ["c", "fc.bias"], ["y"])],
     norm_weight=one, norm_bias=zero, fc_weight=eye, fc_bias=zero)
(folder / "equal.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "sgd"}}))
