"""Writes networks with numbers that f16 does not hold outside of nodes' results:
input.onnx, weight.onnx and moved.onnx; and names.onnx, whose nodes have names like
patterns, and nan.onnx; with their inputs and outputs."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(5)
x = random.uniform(1, 2, (4, 16)).astype(np.float32)
w = random.uniform(1, 2, (16, 16)).astype(np.float32)


def save(name, nodes, weights):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 16))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 16))],
                              [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), name + ".onnx")


node = helper.make_node
# The input is too large; the product is not.
save("input", [node("MatMul", ["x", "w"], ["a"], "first"), node("Add", ["a", "w0"], ["y"], "second")],
     {"w": w * 1e-4, "w0": w[:1]})
np.save("large.npy", x * 1e5)
np.savez("input.npz", y=x @ w * 10 + w[:1])
# A weight is too large; its product with a small number is not.
save("weight", [node("Mul", ["x", "s"], ["t"], "scale"), node("MatMul", ["t", "w"], ["y"], "product")],
     {"w": w * 1e6, "s": 1e-4})
np.save("x.npy", x)
np.savez("weight.npz", y=x @ w * 100)
# The same network, with a weight that is moved at load.
save("moved", [node("Mul", ["x", "s"], ["t"], "scale"), node("Transpose", ["v"], ["u"], "turn", perm=[1, 0]),
               node("Mul", ["t", "u"], ["y"], "times")], {"v": w[:, :4] * 1e6, "s": 1e-4})
np.savez("moved.npz", y=x * w[:, :4].T * 100)
# Two results are too large. Without an escape, the first name in the list would
# match the second node's name too, and the others would be comments or blanks.
save("names", [node("MatMul", ["x", "w"], ["a"], "/m[0]/*?"), node("Mul", ["a", "s"], ["b"], "#grow"),
               node("Mul", ["b", "x"], ["c"], " (a' (b) \\"), node("Mul", ["c", "r"], ["y"], "/m0/ab")],
     {"w": w * 1e4, "s": 10, "r": 1e-5})
np.savez("names.npz", y=(x @ w) * x)
# The difference of infinities is NaN, and so are results of which f16 holds the true value.
save("nan", [node("MatMul", ["x", "w"], ["a"], "first"), node("Mul", ["a", "s"], ["b"], "grow"),
             node("Mul", ["b", "x"], ["c"], "more"), node("Sub", ["c", "b"], ["d"], "less"),
             node("Mul", ["d", "r"], ["y"], "shrink")], {"w": w * 10, "s": 1e3, "r": 1e-5})
