"""Dropout and batch norm of models in training mode: modes.py FOLDER"""
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
info, node = helper.make_tensor_value_info, helper.make_node
constant = numpy_helper.from_array
ONES = {"x": np.ones((1, SIZE), np.float32)}


def fritc(name, *flags, output=None):
    subprocess.run(["fritc", FOLDER / f"{name}.onnx", "-march=x86-64-v3", *flags,
                    "-o", FOLDER / (output or f"{name}.so")], check=True)


def settings(name, **options):
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps({"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd", "learning_rate": 0}, **options}))
    return f"--train={path}"


def kept(name, opset, inputs=(), constants={}, **attributes):
    """The shares of elements that three training steps keep, of a mean of ones; checks
    that no other call drops any."""
    graph = helper.make_graph(
        [node("Dropout", ["x", *inputs], ["d"], "drop", **attributes),
         node("ReduceMean", ["d"], ["m"], "mean", axes=[1]), node("Mul", ["m", "w"], ["y"], "scale")],
        name, [info("x", TensorProto.FLOAT, (1, SIZE))], [info("y", TensorProto.FLOAT, (1, 1))],
        [constant(np.ones(1, np.float32), "w")] + [constant(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8),
              FOLDER / f"{name}.onnx")
    fritc(name, settings(name))
    step = Step(FOLDER / f"{name}.so")
    target = {"target": np.zeros((1, 1), np.float32)}
    found = [float(np.sqrt(step.train(**ONES, **target)["loss"])) for _ in range(3)]
    assert float(step.evaluate(**ONES, **target)["loss"]) == 1
    step.close()
    fritc(name, "-Wno-training")
    with frit.load(FOLDER / f"{name}.so") as module:
        assert float(module.run(ONES)["y"][0, 0]) == 1
    return found


rate, on, off = np.float32(0.25), np.array(True), np.array(False)


def drops(found):
    return len(set(found)) == 3 and np.all(np.abs(np.array(found) - 1) < 0.05)


assert drops(kept("on", 17, ["r", "on"], {"r": rate, "on": on}))
# PyTorch's exporters write the dropout of attention so; the others are of inference.
assert drops(kept("unsaid", 17, ["r"], {"r": rate}))
assert drops(kept("older", 10, ratio=0.25))
assert drops(kept("usual", 13, ["", "on"], {"on": on}))
assert kept("off", 17, ["r", "off"], {"r": rate, "off": off}) == [1, 1, 1]
assert kept("test", 6, ratio=0.25, is_test=1) == [1, 1, 1]
assert kept("none", 17, ["r", "on"], {"r": np.float32(0), "on": on}) == [1, 1, 1]

# Training and export of a whole network; the norm's next mean is an output too.
random = np.random.default_rng(0)
weights = {"w": random.standard_normal((6, 5)), "s": np.ones(5), "b": np.zeros(5),
           "mean": np.full(5, 0.5), "var": np.full(5, 2.0), "v": random.standard_normal((5, 3))}
weights = {n: w.astype(np.float32) for n, w in weights.items()}
graph = helper.make_graph(
    [node("MatMul", ["x", "w"], ["h"], "fc"),
     node("BatchNormalization", ["h", "s", "b", "mean", "var"], ["n", "mean2", "var2"], "norm", training_mode=1),
     node("Dropout", ["n", "r", "on"], ["d", "mask"], "drop"),
     node("MatMul", ["d", "v"], ["logits"], "head"), node("Identity", ["mean2"], ["center"], "copy")],
    "live", [info("x", TensorProto.FLOAT, (8, 6))],
    [info("logits", TensorProto.FLOAT, (8, 3)), info("center", TensorProto.FLOAT, (5,))],
    [constant(w, n) for n, w in weights.items()] + [constant(np.float32(0.5), "r"), constant(on, "on")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / "live.onnx")
fritc("live", settings("live", loss={"kind": "cross_entropy", "output": "logits"},
                       optimizer={"kind": "sgd", "learning_rate": 0.1}), "-Werror", output="step.so")
data = {"x": random.standard_normal((32, 6)).astype(np.float32), "labels": random.integers(0, 3, 32)}
np.savez(FOLDER / "data.npz", **data)
subprocess.run(["frit-train", "step.so", "--device=cpu", "--data=data.npz", "--epochs=2", "--export=out.onnx",
                "--export=out.safetensors", "--from=live.onnx"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
out = onnx.load(FOLDER / "out.onnx")
onnx.checker.check_model(out)
nodes = {n.name: n for n in out.graph.node if n.name}
assert list(nodes["drop"].input) == ["n", "r"] and list(nodes["norm"].output) == ["n"]
trained = {t.name: numpy_helper.to_array(t) for t in out.graph.initializer}
assert all(np.abs(trained[n] - weights[n]).max() > 1e-4 for n in ("w", "v", "mean", "var"))
x = {"x": data["x"][:8]}
logits, center = ReferenceEvaluator(out).run(None, x)
h = (x["x"] @ trained["w"] - trained["mean"]) / np.sqrt(trained["var"] + 1e-5) * trained["s"] + trained["b"]
np.testing.assert_allclose(logits, h @ trained["v"], rtol=1e-4, atol=1e-5)
np.testing.assert_array_equal(center, trained["mean"])
np.savez(FOLDER / "x.npz", **x)
np.savez(FOLDER / "y.npz", logits=logits, center=center)
