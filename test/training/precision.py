"""Writes a network whose second product is too large for f16, net.onnx, and one
whose last is too small, faint.onnx, with the input x.npy and outputs y.npz and
faint.npz."""
import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

info = helper.make_tensor_value_info
random = np.random.default_rng(4)
x = random.uniform(1, 2, (2, 4)).astype(np.float32)
weights = {"a": random.uniform(1, 2, (4, 8)), "b": random.uniform(900, 1000, (8, 8)),
           "c": random.uniform(1e-4, 2e-4, (8, 3))}
weights["b"] *= 20
nodes = [helper.make_node("MatMul", ["x", "a"], ["h"], "first"),
         helper.make_node("MatMul", ["h", "b"], ["g"], "grow"),
         helper.make_node("MatMul", ["g", "c"], ["y"], "shrink")]
graph = helper.make_graph(nodes, "net", [info("x", TensorProto.FLOAT, (2, 4))], [info("y", TensorProto.FLOAT, None)],
                          [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
faint = helper.make_graph(
    [nodes[0], helper.make_node("MatMul", ["h", "d"], ["y"], "fade")], "faint",
    [info("x", TensorProto.FLOAT, (2, 4))], [info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(weights["a"].astype(np.float32), "a"),
     numpy_helper.from_array(np.full((8, 3), 2e-8, np.float32), "d")])
onnx.save(helper.make_model(faint, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "faint.onnx")
np.savez("faint.npz", y=(x @ weights["a"] @ np.full((8, 3), 2e-8)).astype(np.float32))
np.save("x.npy", x)
np.savez("y.npz", y=(x @ weights["a"] @ weights["b"] @ weights["c"]).astype(np.float32))
with open("train.json", "w") as file:
    json.dump({"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd"}}, file)
