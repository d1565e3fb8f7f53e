"""paired-products.py OUT [ROWS]: writes feed-forward networks in fp16 whose two products
of the same rows are multiplied, as language models have them: with SiLU, with GELU and
matrices that are stored in rows, and one whose first product has another reader. ROWS is
the name of an open dimension."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

ROWS = sys.argv[2] if len(sys.argv) > 2 else 131
WIDTH, INNER = 136, 328
rng = np.random.default_rng(3)
nodes, tensors, results = [], [], []


def weight(name: str, *shape: int) -> str:
    values = rng.standard_normal(shape, dtype=np.float32) / shape[0] ** 0.5
    tensors.append(onnx.numpy_helper.from_array(values, name))
    return name


def add(op: str, *inputs: str, **attributes) -> str:
    nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attributes))
    return nodes[-1].output[0]


def product(x: str, name: str, stored: bool) -> str:
    if not stored:
        return add("MatMul", x, weight(name, WIDTH, INNER))
    return add("MatMul", x, add("Transpose", weight(name, INNER, WIDTH), perm=[1, 0]))


def give(value: str, columns: int) -> None:
    nodes.append(helper.make_node("Identity", [value], [f"y{len(results)}"]))
    results.append(helper.make_tensor_value_info(f"y{len(results)}", TensorProto.FLOAT,
                                                 [ROWS, columns]))


for i, kind in enumerate(("silu", "gelu", "read")):
    gate, up = (product("x", f"{name}{i}", kind == "gelu") for name in ("gate", "up"))
    activated = (add("Gelu", gate, approximate="tanh") if kind == "gelu"
                 else add("Mul", gate, add("Sigmoid", gate)))
    y = add("Mul", activated, up)
    give(add("MatMul", y, weight(f"down{i}", INNER, WIDTH)), WIDTH)
    if kind == "read":
        give(up, INNER)
graph = helper.make_graph(
    nodes, "pairs", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, WIDTH])],
    results, tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), sys.argv[1])
