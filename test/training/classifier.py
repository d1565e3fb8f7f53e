"""Writes classifiers and their files for --train."""
import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write(folder, name, nodes, shapes, weights, learning_rate):
    """Writes NAME.onnx, which computes y from x with tensors of these shapes, and
    NAME.json, which trains it by SGD.
    """
    x, y = (helper.make_tensor_value_info(of, TensorProto.FLOAT, shape)
            for of, shape in zip("xy", shapes))
    graph = helper.make_graph(
        nodes, name, [x], [y],
        [numpy_helper.from_array(np.asarray(value, np.float32), of)
         for of, value in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        folder / f"{name}.onnx")
    (folder / f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"},
         "optimizer": {"kind": "sgd", "learning_rate": learning_rate}}))
