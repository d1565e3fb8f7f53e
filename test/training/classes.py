"""Writes classifiers of an odd number of classes, whose columns are aligned:
classes.onnx, and wide.onnx, whose weights nearly fill their bucket."""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

out = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(1)


def write_classifier(name, width):
    weights = {"w": rng.normal(0, 0.2, (width, 32)),
               "bias": rng.normal(0, 0.2, 1002),
               "head": rng.normal(0, 0.2, (1002, width))}
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["h"], transB=1),
         helper.make_node("Relu", ["h"], ["r"]),
         helper.make_node("Gemm", ["r", "head", "bias"], ["logits"], transB=1)],
        "classes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 32])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [16, 1002])],
        [numpy_helper.from_array(w.astype(np.float32), name)
         for name, w in weights.items()])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, out / f"{name}.onnx")


write_classifier("classes", 64)
write_classifier("wide", 1024)
(out / "classes.json").write_text(json.dumps(
    {"loss": {"kind": "cross_entropy", "ignore_index": 3},
     "optimizer": {"kind": "sgd", "learning_rate": 0.5}}))
