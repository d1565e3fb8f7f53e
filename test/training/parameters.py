"""Tests that those weights train that PyTorch's newer exporter marks.

    parameters.py FOLDER
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
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
SCOPES = "pkg.torch.onnx.name_scopes"
X = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
WEIGHTS = {"table": np.linspace(1, 2, 8, dtype=np.float32),
           "norm.weight": np.ones(8, np.float32),
           "scale": np.float32(0.5),
           "fc.weight": np.eye(8, 3, dtype=np.float32)}


def note(proto, **entries):
    for key, value in entries.items():
        proto.metadata_props.add(key={"kind": KIND, "scopes": SCOPES}[key],
                                 value=value)


def fritc(name, **chosen):
    """Compiles a file; returns the step and what fritc says."""
    (FOLDER / "train.json").write_text(json.dumps(
        {"loss": {"kind": "mse"},
         "optimizer": {"kind": "sgd", "learning_rate": 0.1}} | chosen))
    library = (FOLDER / name).with_suffix(".so")
    done = subprocess.run(
        ["fritc", f"--train={FOLDER}/train.json", "-march=x86-64", FOLDER / name,
         "-o", library], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Step(library), done.stderr


def compile(name, kinds, second="norm", **chosen):
    """x · table · norm.weight² · exp(scale) · fc.weight; a node of the part `second`
    reads norm.weight too."""
    def node(operator, inputs, output, part):
        proto = helper.make_node(operator, inputs, [output], output)
        note(proto, scopes=f"['', '{part}', 'mul']" if part else "['', 'mul']")
        return proto

    info = helper.make_tensor_value_info
    described = []
    for weight, kind in kinds.items():
        described.append(info(weight, TensorProto.FLOAT, WEIGHTS[weight].shape))
        note(described[-1], kind=kind)
    graph = helper.make_graph(
        [node("Mul", ["x", "table"], "rotated", ""),
         node("Mul", ["rotated", "norm.weight"], "once", "norm"),
         node("Mul", ["once", "norm.weight"], "twice", second),
         node("Exp", ["scale"], "factor", ""),
         node("Mul", ["twice", "factor"], "scaled", ""),
         node("MatMul", ["scaled", "fc.weight"], "y", "fc")],
        name, [info("x", TensorProto.FLOAT, X.shape)],
        [info("y", TensorProto.FLOAT, (8, 3))],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in WEIGHTS.items()],
        value_info=described)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10,
        producer_name="pytorch"), FOLDER / f"{name}.onnx")
    return fritc(f"{name}.onnx", **chosen)


def trained(step):
    return set(step.read()) - {"learning_rate", "step"}


# As the file says: a scalar trains, a buffer does not, and a parameter that its
# own part reads twice is one.
kinds = {"table": "BUFFER", "norm.weight": "PARAMETER", "scale": "PARAMETER",
         "fc.weight": "PARAMETER"}
step, said = compile("marked", kinds)
assert said == "" and trained(step) == {*kinds} - {"table"}, (said, trained(step))
target = np.zeros((8, 3), np.float32)
w = {n: v.astype(np.float64) for n, v in WEIGHTS.items()}
for _ in range(3):
    loss = step.train(x=X, target=target)["loss"]
    h = X * w["table"]
    s = h * w["norm.weight"] ** 2
    factor = np.exp(w["scale"])
    y = s * factor @ w["fc.weight"]
    assert abs(loss / (y ** 2).mean() - 1) < 1e-5
    dy = 2 * y / y.size
    ds = dy @ w["fc.weight"].T
    w["fc.weight"] = w["fc.weight"] - 0.1 * (s * factor).T @ dy
    w["scale"] = w["scale"] - 0.1 * factor * (ds * s).sum()
    w["norm.weight"] = w["norm.weight"] - 0.1 * (
        ds * factor * h * 2 * w["norm.weight"]).sum(0)
for name, value in step.read("norm.weight", "scale", "fc.weight").items():
    np.testing.assert_allclose(value, w[name], rtol=1e-5, atol=1e-6, err_msg=name)

# Another part reads it: an exporter has merged equal weights.
step, said = compile("merged", kinds, second="other")
assert "has several readers; each trains a copy of its own" in said, said
assert trained(step) == {*kinds, "norm.weight.1"} - {"table"}, trained(step)

# Without metadata, all floats train but scalars, and those that look like buffers
# are named: "table" is an arithmetic progression.
step, said = compile("unmarked", {})
assert "weights train that look like buffers: 'table', 'fc.weight'. The" in said
assert "weights of one number do not train: 'scale'. The file does not" in said
assert trained(step) == {"table", "norm.weight", "norm.weight.1", "fc.weight"}

# Unless the user says of a scalar whether it trains; it may then be read by name.
step, said = compile("named", {}, train=["scale", "fc.*"])
assert "of one number" not in said and trained(step) == {"scale", "fc.weight"}, said
step.train(x=X, target=target)
after = step.read("scale")["scale"]
step, said = compile("all", {}, train=["*"])
step.train(x=X, target=target)
np.testing.assert_allclose(step.read("scale")["scale"], after, rtol=1e-5)
assert after != WEIGHTS["scale"]
step, said = compile("frozen", {}, freeze=["scale", "table", "fc.weight"])
assert "number" not in said and trained(step) == {"norm.weight", "norm.weight.1"}, said

# A JSON graph's weights are alike, also a list of one.
ones = {"scale": [], "one": [1]}
header = json.dumps({n: {"dtype": "F32", "shape": shape, "data_offsets": [4 * i, 4 * i + 4]}
                     for i, (n, shape) in enumerate(ones.items())}).encode()
(FOLDER / "one.safetensors").write_bytes(
    len(header).to_bytes(8, "little") + header + np.ones(2, np.float32).tobytes())
nodes = [("exp", ["scale"], "a"), ("exp", ["one"], "b"), ("mul", ["x", "a"], "h"),
         ("mul", ["h", "b"], "y")]
(FOLDER / "one.json").write_text(json.dumps({
    "frit": 1, "inputs": [{"name": "x", "type": "f32", "shape": [8, 8]}],
    "weights": "one.safetensors", "outputs": ["y"],
    "nodes": [{"op": op, "inputs": inputs, "outputs": [output]}
              for op, inputs, output in nodes]}))
for chosen, names in (({}, {"one"}), ({"train": ["*"]}, {"one", "scale"}),
                      ({"train": ["scale"]}, {"scale"})):
    step, said = fritc("one.json", **chosen)
    assert said == "" and trained(step) == names, (said, trained(step))
print("right")
