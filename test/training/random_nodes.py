"""Random numbers of a model that trains: random_nodes.py FOLDER"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from runtime import Step, frit

FOLDER = Path(sys.argv[1])
SIZE = 4096
X = np.ones((1, SIZE), np.float32)
node = helper.make_node


def compile(name, nodes, *flags):
    """The model's output is w · y of its nodes, which read x."""
    info = helper.make_tensor_value_info
    shape = (1, SIZE)
    graph = helper.make_graph(
        nodes + [node("Mul", ["y", "w"], ["out"], "out")], name, [info("x", TensorProto.FLOAT, shape)],
        [info("out", TensorProto.FLOAT, shape), info("first", TensorProto.FLOAT, ())],
        [numpy_helper.from_array(np.ones(1, np.float32), "w"), numpy_helper.from_array(np.float32(0.75), "keep")])
    graph.node.extend([node("ReduceMean", ["y"], ["first"], keepdims=0)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / f"{name}.onnx")
    (FOLDER / f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": "mse", "output": "out"}, "optimizer": {"kind": "sgd", "learning_rate": 0}}))
    subprocess.run(["fritc", FOLDER / f"{name}.onnx", f"--train={FOLDER}/{name}.json", "-march=x86-64-v3", *flags,
                    "-o", FOLDER / f"{name}.so"], check=True)
    return Step(FOLDER / f"{name}.so")


def run(step):
    """The mean of y and of its squares in three training steps, and y of two evaluations."""
    inputs = {"x": X, "target": np.zeros_like(X)}
    trained = [step.train(**inputs) for _ in range(3)]
    found = np.array([[t["first"], t["loss"]] for t in trained])
    return found, [np.array(step.evaluate(**inputs)["out"]) for _ in range(2)]


def in_module(made, kind="Dropout2d", path="drop"):
    """Adds what PyTorch's newer exporter writes of a node's module."""
    for key, value in ("class_hierarchy", f"['Net', 'torch.nn.modules.dropout.{kind}', 'aten.mul.Tensor']"), (
            "name_scopes", f"['', '{path}', '{made.name}']"):
        entry = made.metadata_props.add()
        entry.key, entry.value = f"pkg.torch.onnx.{key}", value
    return made


noise = compile("noise", [node("RandomNormalLike", ["x"], ["y"], "noise", mean=1.0, scale=2.0)], "-Wno-random")
found, evaluated = run(noise)
assert len(set(found[:, 0])) == 3
assert np.all(np.abs(found - [1, 5]) < [0.2, 0.6]), found
np.testing.assert_array_equal(*evaluated)
noise.close()
# Two generators of a model draw different numbers, and so does another seed.
two = compile("two", [node("RandomUniformLike", ["x"], ["a"], "a"), node("RandomUniformLike", ["x"], ["b"], "b"),
                      node("Sub", ["a", "b"], ["y"], "sub")], "-Wno-random")
found, _ = run(two)
assert np.all(found[:, 1] > 0.1), found
two.write(seed=np.int64(5), calls=np.int64(0))
assert run(two)[0][0, 0] != found[0, 0]
two.close()

# Dropout2d and its kin: twice the same module.
drops = []
for i, (source, result) in enumerate([("x", "once"), ("once", "y")]):
    names = [f"r{i}", f"c{i}", f"m{i}", f"d{i}"]
    drops += [in_module(made) for made in (
        node("RandomUniformLike", [source], [names[0]], f"draw{i}"), node("Less", [names[0], "keep"], [names[1]], f"less{i}"),
        node("Cast", [names[1]], [names[2]], f"cast{i}", to=TensorProto.FLOAT), node("Div", [names[2], "keep"], [names[3]], f"div{i}"),
        node("Mul", [source, names[3]], [result], "scale" if i else "first"))]
    drops += [] if i else [node("Identity", ["once"], ["again"], "between")]
module = compile("module", drops, "-Werror")
found, evaluated = run(module)
assert len(set(found[:, 0])) == 3
assert np.all(np.abs(found - [1, 1 / 0.75 ** 2]) < 0.1), found
for y in evaluated:
    np.testing.assert_array_equal(y, X)
module.close()
subprocess.run(["fritc", FOLDER / "module.onnx", "-march=x86-64-v3", "-w", "-o", FOLDER / "plain.so"], check=True)
with frit.load(FOLDER / "plain.so") as plain:
    np.testing.assert_array_equal(plain.run({"x": X})["out"], X)
np.savez(FOLDER / "data.npz", x=X, target=X)
subprocess.run(["frit-train", "module.so", "--device=cpu", "--data=data.npz", "--steps=1", "--export=out.onnx", "--from=module.onnx"],
               cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
out = onnx.load(FOLDER / "out.onnx")
onnx.checker.check_model(out)
assert not [n for n in out.graph.node if "Random" in n.op_type], out.graph
np.testing.assert_array_equal(ReferenceEvaluator(out).run(["out"], {"x": X})[0], X)

# DropPath and its kin as PyTorch's older exporter writes them: nothing names the module. Rows are dropped whole.
ZEROS = numpy_helper.from_array(np.zeros((1, SIZE), np.float32))
DRAW = [node("Constant", [], ["zeros"], value=ZEROS), node("RandomUniformLike", ["zeros"], ["r"], "draw", low=0.0, high=1.0)]
LESS = DRAW + [node("Less", ["r", "keep"], ["l"]), node("Cast", ["l"], ["m"], to=TensorProto.FLOAT)]
FLOOR = DRAW + [node("Add", ["keep", "r"], ["s"]), node("Floor", ["s"], ["m"])]
CONSTANT = node("Constant", [], ["k"], value_float=0.75)
INVERSE = node("Constant", [], ["k"], value=numpy_helper.from_array(np.float32(1 / 0.75)))
PROBABLE = [node("Constant", [], ["p"], value=numpy_helper.from_array(np.full((1, 1), 0.75, np.float32))),
            node("Bernoulli", ["p"], ["m"], "draw")]
for name, nodes in {
        "mask": LESS + [node("Div", ["m", "keep"], ["d"]), node("Mul", ["x", "d"], ["y"], "apply")],
        "floor": FLOOR + [CONSTANT, node("Div", ["x", "k"], ["d"]), node("Mul", ["d", "m"], ["y"], "apply")],
        "after": FLOOR + [node("Mul", ["m", "x"], ["d"]), node("Div", ["d", "keep"], ["y"], "apply")],
        "greater": DRAW + [node("Greater", ["keep", "r"], ["l"]), node("Cast", ["l"], ["m"], to=TensorProto.FLOAT), INVERSE,
                           node("Mul", ["k", "m"], ["d"]), node("Mul", ["d", "x"], ["y"], "apply")]}.items():
    step = compile(f"path_{name}", nodes, "-Werror")
    found, evaluated = run(step)
    assert len(set(found[:, 0])) == 3 and np.all(np.abs(found - [1, 1 / 0.75]) < 0.1), (name, found)
    for y in evaluated:
        np.testing.assert_array_equal(y, X)
    step.close()
# One draw for a whole sample, by Bernoulli of one number.
sample = compile("path_sample", PROBABLE + [node("Div", ["m", "keep"], ["d"]), node("Mul", ["x", "d"], ["y"], "apply")], "-Werror")
firsts = {float(sample.train(x=X, target=np.zeros_like(X))["first"]) for _ in range(40)}
assert len(firsts) == 2 and min(firsts) == 0 and abs(max(firsts) - 1 / 0.75) < 1e-5, firsts
np.testing.assert_array_equal(sample.evaluate(x=X, target=np.zeros_like(X))["out"], X)
sample.close()
subprocess.run(["frit-train", "path_floor.so", "--device=cpu", "--data=data.npz", "--steps=1", "--export=path.onnx",
                "--from=path_floor.onnx"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
assert not [n for n in onnx.load(FOLDER / "path.onnx").graph.node if "Random" in n.op_type]
# A mask that is not divided by its mean, or by another number, is noise that the model is meant to have.
for name, nodes in {"plain": LESS + [node("Mul", ["x", "m"], ["y"], "apply")],
                    "other": LESS + [node("Constant", [], ["k"], value_float=0.5), node("Div", ["m", "k"], ["d"]),
                                     node("Mul", ["x", "d"], ["y"], "apply")],
                    "shifted": [node("RandomUniformLike", ["x"], ["r"], "draw", low=0.5, high=1.0), *LESS[2:],
                                node("Div", ["m", "keep"], ["d"]), node("Mul", ["x", "d"], ["y"], "apply")]}.items():
    step = compile(f"noise_{name}", nodes, "-Wno-random")
    _, evaluated = run(step)
    assert len(set(evaluated[0].ravel())) == 2, name
    np.testing.assert_array_equal(*evaluated)
    step.close()
