"""Gradients where functions have several slopes or none: kinks.py FOLDER

One network sums up an operator for each case. A step of gradient descent by 1
then leaves the gradients, which are PyTorch's but where a case says otherwise.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from runtime import Step

FOLDER = Path(sys.argv[1])
nodes, weights, expected, losses = [], {}, {}, []


def constant(value):
    name = f"c{len(nodes)}"
    nodes.append(helper.make_node(
        "Constant", [], [name], value=numpy_helper.from_array(
            np.asarray(value, np.float32 if isinstance(value, float) else None))))
    return name


def add(op, *operands, **attributes):
    name = f"v{len(nodes)}"
    nodes.append(helper.make_node(op, operands, [name], f"{op}_{len(nodes)}",
                                  **attributes))
    return name


def weight(values, slopes):
    """A weight and its gradient."""
    name = f"w{len(weights)}"
    weights[name] = np.array(values, np.float32)
    expected[name] = np.array(slopes, np.float32)
    return name


def case(result):
    losses.append(add("ReduceSum", result, keepdims=0))


def unary(op, values, slopes, **attributes):
    case(add(op, weight(values, slopes), **attributes))


unary("Relu", [-1, 0, 1], [0, 0, 1])
unary("LeakyRelu", [-1, 0, 1], [0.25, 0.25, 1], alpha=0.25)
unary("Elu", [0, 1], [0.5, 1], alpha=0.5)
unary("Abs", [-2, 0, 2], [-1, 0, 1])
unary("HardSwish", [-4, -3, 0, 3, 4], [0, 0, 0.5, 1, 1])
unary("HardSigmoid", [-2.5, 0, 2.5], [0, 0.2, 0])
unary("ThresholdedRelu", [0, 1, 2], [0, 0, 1], alpha=1.0)
case(add("PRelu", weight([-2, 0, 2], [0.25, 0.25, 1]), weight([0.25], [-2])))

# A bound has no slope, as in clamp, relu6 and hardtanh.
bounds = constant(0.0), constant(6.0)
case(add("Clip", weight([-1, 0, 3, 6, 7], [0, 0, 1, 0, 0]), *bounds))
case(add("Clip", weight([-1, 0, 3], [0, 0, 1]), bounds[0]))
case(add("Max", weight([-1, 0, 3], [0, 0, 1]), bounds[0]))
# Operands that are equal share it.
case(add("Max", weight([1, 2, 3], [0, 0.5, 1]), weight([2], [1.5])))
case(add("Min", weight([1, 2, 3], [1, 0.5, 0]), constant(np.float32([2, 2, 1]))))
unary("ReduceMax", [1, 3, 3], [0, 0.5, 0.5])
unary("MaxPool", [[[1, 3, 3]]], [[[0, 1, 0]]], kernel_shape=[3])
# PyTorch's adaptive pools choose the first here, too.
unary("GlobalMaxPool", [[[1, 3, 3]]], [[[0, 0.5, 0.5]]])

# Norms and deviations of 0.
last = constant(np.array([-1]))
case(add("ReduceL2", weight([[3, 4], [0, 0]], [[0.6, 0.8], [0, 0]]), last))
case(add("ReduceL1", weight([[3, -4], [0, 0]], [[1, -1], [0, 0]]), last))
x = weight([[3, 4], [0, 0]], [[0.6, 0.8], [0, 0]])
case(add("Sqrt", add("ReduceSum", add("Pow", x, constant(2.0)), last)))
x = weight([[-1, 1], [5, 5]], [[-0.5, 0.5], [0, 0]])
centred = add("Sub", x, add("ReduceMean", x, last))
case(add("Sqrt", add("ReduceMean", add("Mul", centred, centred), last)))
unary("LpPool", [[[3, 4, 0, 0]]], [[[0.6, 0.8, 0, 0]]], kernel_shape=[2],
      strides=[2])
# 0 where PyTorch divides by 1e-12.
unary("LpNormalization", [[3, 4], [0, 0]], [[0.032, -0.024], [1, 1]])
# No norm: the slope is infinite.
unary("Sqrt", [0, 4], [np.inf, 0.25])

case(add("Pow", weight([-2, 0, 0, 0, 3], [-4, 0, 1, 0, 6]),
         constant(np.float32([2, 2, 1, 0, 2]))))
case(add("Pow", weight([0, 0, 2], [0, 0, 4]), weight([0, 3, 2], [
    0, 0, 4 * np.log(2)])))
unary("ReduceProd", [[2, 3], [0, 3]], [[0, 0], [18, 0]])
case(add("Gather", weight([5, 6, 7], [3, 0, 1]),
         constant(np.array([0, -1, -3, 0]))))
case(add("Where", constant(np.array([[True], [False]])),
         weight([1, 2], [1, 1]), weight([[3], [4]], [[0], [2]])))

total = losses[0]
for loss in losses[1:]:
    total = add("Add", total, loss)
graph = helper.make_graph(
    nodes, "kinks", [],
    [helper.make_tensor_value_info(total, TensorProto.FLOAT, ())],
    [numpy_helper.from_array(a, n) for n, a in weights.items()])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
    FOLDER / "kinks.onnx")
(FOLDER / "kinks.json").write_text(json.dumps(
    {"loss": {"kind": "output", "output": total},
     "optimizer": {"kind": "sgd", "learning_rate": 1.0}}))
subprocess.run(["fritc", f"--train={FOLDER}/kinks.json", "-march=x86-64-v3",
                FOLDER / "kinks.onnx", "-o", FOLDER / "kinks.so"], check=True)
step = Step(FOLDER / "kinks.so")
step.train()
for name, after in step.read(*weights).items():
    np.testing.assert_allclose(weights[name] - after, expected[name], rtol=1e-5,
                               atol=1e-6, err_msg=f"{name} {weights[name]}")
print(f"{len(weights)} weights, right")
