"""Mixtures of experts in their usual form: every expert for every
token, and a one-hot matrix of the router's choice.

    experts.py WORK [emulate]

Compares the cpu target, or with `emulate` the CUDA target's kernels on the
host, with ONNX Runtime, and prints the FLOPs.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

WORK = pathlib.Path(sys.argv[1])
EMULATES = len(sys.argv) > 2
TEST = pathlib.Path(__file__).resolve().parents[2]


def mixture(tokens, experts, per_token, width, inner, dispatch):
    """A router and SwiGLU experts. `dispatch` says whether the experts see only
    the tokens that are routed to them."""
    random = np.random.default_rng(tokens)

    def weight(*shape):
        return random.normal(size=shape).astype(np.float32) / shape[-2] ** .5
    constants = {
        "router": weight(width, experts), "gate": weight(experts, width, inner),
        "up": weight(experts, width, inner), "bias": weight(experts, 1, inner),
        "down": weight(experts, inner, width),
        "k": np.array([per_token], np.int64), "depth": np.array(experts),
        "off_on": np.array([0, 1], np.float32), "last": np.array([-1]),
        "first": np.array([0]), "middle": np.array([1])}
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "router"], ["logits"]),
        node("Softmax", ["logits"], ["scores"]),
        node("TopK", ["scores", "k"], ["top", "picks"]),
        node("ReduceSum", ["top", "last"], ["all"]),
        node("Div", ["top", "all"], ["weights"]),
        node("OneHot", ["picks", "depth", "off_on"], ["hot"]),
        node("Unsqueeze", ["weights", "last"], ["column"]),
        node("Mul", ["hot", "column"], ["weighted"]),
        node("ReduceSum", ["weighted", "middle"], ["combine"], keepdims=0),
        node("Transpose", ["combine"], ["gates"], perm=[1, 0]),
        node("Unsqueeze", ["gates", "last"], ["factors"]),
        node("Unsqueeze", ["x", "first"], ["rows"])]
    rows = "rows"
    if dispatch:
        nodes += [
            node("ReduceSum", ["hot", "middle"], ["any"], keepdims=0),
            node("Transpose", ["any"], ["anyT"], perm=[1, 0]),
            node("Unsqueeze", ["anyT", "last"], ["mask"]),
            node("Mul", ["rows", "mask"], ["masked"])]
        rows = "masked"
    nodes += [
        node("MatMul", [rows, "gate"], ["g0"]),
        node("Add", ["g0", "bias"], ["g"]),
        node("Sigmoid", ["g"], ["s"]),
        node("Mul", ["g", "s"], ["silu"]),
        node("MatMul", [rows, "up"], ["u"]),
        node("Mul", ["silu", "u"], ["h"]),
        node("MatMul", ["h", "down"], ["each"]),
        node("Mul", ["each", "factors"], ["counted"]),
        node("ReduceSum", ["counted", "first"], ["y"], keepdims=0)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "main", [value("x", TensorProto.FLOAT, [tokens, width])],
        [value("y", TensorProto.FLOAT, [tokens, width])],
        [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def check(name, *shape, dispatch=False, skewed=False):
    model = mixture(*shape, dispatch)
    path = WORK / f"{name}.onnx"
    onnx.save(model, path)
    tokens, width = shape[0], shape[3]
    x = np.random.default_rng(1).normal(size=(tokens, width)).astype(np.float32)
    if skewed:  # every token is the same, and so are the experts of all
        x[:] = x[0]
    np.savez(WORK / "x.npz", x=x)
    session = onnxruntime.InferenceSession(path)
    np.savez(WORK / "y.npz", y=session.run(None, {"x": x})[0])
    library = WORK / f"{name}.so"
    if EMULATES:
        run("bash", TEST / "emulator" / "model.sh", sys.argv[2], sys.executable,
            path, "1e-4")
        print(f"{name}: agrees")
        return
    run("fritc", path, "-march=x86-64", "-o", library)
    run("frit-run", library, f"--input=@{WORK / 'x.npz'}", "--rtol=1e-4",
        f"--compare={WORK / 'y.npz'}")
    plan = run("fritc", path, "-march=x86-64", "--emit=plan", "-o", "-")
    products = [line for line in plan.splitlines() if "plan.gemm" in line]
    flops = 0
    for line in products:
        sizes = [int(re.search(rf"\b{size} = (\d+)", line)[1])
                 for size in ("batch", "m", "n", "k")]
        flops += 2 * int(np.prod(sizes))
    dense = 2 * shape[0] * (shape[1] * (3 * shape[3] * shape[4] + shape[3]))
    print(f"{name}: agrees, {flops / dense:.0%} of all products")


check("dispatched", 1024, 64, 2, 8, 12, dispatch=True)
if not EMULATES:
    check("two of 64", 1024, 64, 2, 8, 12)
    check("all the same", 960, 64, 2, 8, 12, skewed=True)
    check("one of 64", 1111, 64, 1, 8, 12)
    check("few tokens", 40, 64, 2, 8, 12)
