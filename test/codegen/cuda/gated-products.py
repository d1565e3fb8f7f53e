"""gated-products.py OUT [ROWS]: writes feed-forward networks in fp16 whose first product
has values and gates in its columns: as diffusion models have them, after a norm,
and with gates first. ROWS is the name of an open dimension."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

ROWS = sys.argv[2] if len(sys.argv) > 2 else 131
rng = np.random.default_rng(3)
nodes, tensors = [], []


def tensor(values):
    name = f"t{len(tensors)}"
    tensors.append(onnx.numpy_helper.from_array(values, name))
    return name


def half(*shape, scale=1.0, shift=0.0):
    values = rng.standard_normal(shape) * scale + shift
    return tensor(values.astype(np.float16))


def node(op, inputs, outputs=1, **attributes):
    names = [f"{op}_{len(nodes)}_{i}" for i in range(outputs)]
    nodes.append(helper.make_node(op, inputs, names, names[0], **attributes))
    return names if outputs > 1 else names[0]


def product(x, inner, columns, bias=True):
    y = node("MatMul", [x, half(inner, columns, scale=inner ** -0.5)])
    return node("Add", [y, half(columns)]) if bias else y


def gelu(x):
    scaled = node("Div", [x, tensor(np.float16(2 ** 0.5))])
    more = node("Add", [node("Erf", [scaled]), tensor(np.float16(1))])
    return node("Mul", [node("Mul", [x, more]), tensor(np.float16(0.5))])


def halves(x):
    return node("Split", [x], 2, axis=-1, num_outputs=2)


x = product("x", 64, 256)
h = node("LayerNormalization", [x, half(256, shift=1), half(256)])
value, gate = halves(product(h, 256, 320))
y = node("Add", [x, product(node("Mul", [value, gelu(gate)]), 160, 256)])
gate, value = halves(product(y, 256, 288, bias=False))
y = node("Mul", [node("Mul", [gate, node("Sigmoid", [gate])]), value])
nodes.append(helper.make_node("Identity", [y], ["y"]))
graph = helper.make_graph(
    nodes, "gates",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [ROWS, 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [ROWS, 144])], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                            ir_version=10), sys.argv[1])
