"""Branches and loops with data-dependent conditions, on the CPU target or, with
`emulate`, the cuda target's kernels on the host.

    guards.py WORK [emulate]
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = helper.make_opsetid("", 21)
SHAPE = [64, 64]
WEIGHTS = {name: np.random.default_rng(seed).normal(size=SHAPE)
           .astype(np.float32) / 8 for seed, name in enumerate("abc")}


def value(name, shape=(), kind=TensorProto.BOOL):
    return helper.make_tensor_value_info(name, kind, shape)


def floats(name, shape=SHAPE):
    return value(name, shape, TensorProto.FLOAT)


def product(weight, result, times=1):
    """A branch that is one product, or several in a row."""
    names = ["x", *(f"{result}{i}" for i in range(times - 1)), result]
    return helper.make_graph(
        [helper.make_node("MatMul", [a, weight], [b], name=b)
         for a, b in zip(names, names[1:])],
        result, [], [floats(result)])


def branch(condition, yes, no, result, name):
    return helper.make_node("If", [condition], [result], name=name,
                            then_branch=yes, else_branch=no)


def if_model(times=1):
    return [branch("p", product("a", "xa", times), product("b", "xb", times),
                   "y", "if")], [value("p"), floats("x")]


def nested_model():
    inner = helper.make_graph(
        [branch("q", product("a", "xa"), product("b", "xb"), "i", "inner")],
        "then", [], [floats("i")])
    return [branch("p", inner, product("c", "xc"), "y", "outer")], [
        value("p"), value("q"), floats("x")]


def bounded_model():
    """x·a, n times, where n is at most five."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "a"], ["t"], name="step"),
         helper.make_node("ReduceSum", ["t"], ["sum"], keepdims=0),
         helper.make_node("Identity", ["go"], ["goes"])],
        "body", [value("i", (), TensorProto.INT64), value("go"), floats("s")],
        [value("goes"), floats("t"), floats("sum", ())])
    five = numpy_helper.from_array(np.array(5, np.int64), "five")
    nodes = [helper.make_node("Min", ["n", "five"], ["m"]),
             helper.make_node("Loop", ["m", "", "x"], ["y", "sums"],
                              body=body)]
    return nodes, [value("n", (), TensorProto.INT64), floats("x")], [
        five], ["sums"]


def loop_model():
    """x·a, n times but at most six; collects the results of the
    steps."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "a"], ["t"], name="step"),
         helper.make_node("Add", ["i", "one"], ["next"]),
         helper.make_node("Less", ["next", "n"], ["more"]),
         helper.make_node("ReduceSum", ["t"], ["sum"], keepdims=0)],
        "body", [value("i", (), TensorProto.INT64), value("go"), floats("s")],
        [value("more"), floats("t"), floats("sum", ())])
    most = numpy_helper.from_array(np.array(6, np.int64), "most")
    one = numpy_helper.from_array(np.array(1, np.int64), "one")
    zero = numpy_helper.from_array(np.array(0, np.int64), "zero")
    nodes = [helper.make_node("Less", ["zero", "n"], ["any"]),
             helper.make_node("Loop", ["most", "any", "x"], ["y", "sums"],
                              body=body)]
    return nodes, [value("n", (), TensorProto.INT64), floats("x")], [
        most, one, zero], ["sums"]


def compile_model(work, name, made, *flags):
    nodes, inputs, constants, more = (*made, [], [])[:4]
    graph = helper.make_graph(
        nodes, name, inputs,
        [floats("y")] + [floats(n, [None]) for n in more],
        [numpy_helper.from_array(w, n) for n, w in WEIGHTS.items()] +
        constants)
    onnx.save(helper.make_model(graph, opset_imports=[OPSET], ir_version=10),
              work / f"{name}.onnx")
    subprocess.run(["fritc", work / f"{name}.onnx", "-march=x86-64-v3", "-o",
                    work / f"{name}.so", *flags], check=True)


def call(work, name, **values):
    """Runs a call in ONNX Runtime; returns its results and the flags for its inputs."""
    values["x"] = np.random.default_rng(9).normal(size=SHAPE).astype(
        np.float32)
    flags = []
    for key, array in values.items():
        values[key] = np.array(array)
        np.save(work / f"{key}.npy", values[key])
        flags.append(f"--input={key}=@{work / key}.npy")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # of weights that a model does not use
    session = onnxruntime.InferenceSession(work / f"{name}.onnx", options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, values))), flags


def check(work, name, title, **values):
    """Compares one call with ONNX Runtime; returns which products ran."""
    right, flags = call(work, name, **values)
    subprocess.run(["frit-run", work / f"{name}.so", *flags,
                    f"--output=@{work}/y.npz"], check=True,
                   capture_output=True)
    with np.load(work / "y.npz") as file:
        for output, expected in right.items():
            np.testing.assert_allclose(file[output], expected, rtol=1e-3,
                                       atol=1e-4)
    profile = subprocess.run(
        ["frit-run", work / f"{name}.so", *flags, "--profile", "--json"],
        check=True, capture_output=True, text=True).stdout
    products = [step for step in json.loads(profile)["steps"]
                if step["kind"] == "gemm"]
    ran = [step for step in products if step["flops"]]
    assert all(step["us"] == 0 for step in products if step not in ran)
    print(f"{title}: {len(ran)} of {len(products)} products")


def emulate(work):
    """Branches that are worth a conditional node. The emulator fills skipped results
    with NaN."""
    compile_model(work, "long", if_model(times=10), "-march=sm_90a")
    tool = pathlib.Path(__file__).parents[2] / "emulator/emulate.py"
    subprocess.run([sys.executable, tool, work / "long.so", "-o",
                    work / "kernels.so"], check=True)
    for p in (True, False):
        right, flags = call(work, "long", p=p)
        np.savez(work / "right.npz", **right)
        subprocess.run(
            ["emulate_run", work / "long.so", work / "kernels.so", *flags,
             f"--compare={work}/right.npz", "--rtol=1e-4", "--seeds=1"],
            check=True)


def main():
    work = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["emulate"]:
        emulate(work)
        return
    compile_model(work, "if", if_model())
    for p in (True, False):
        check(work, "if", f"if {str(p).lower()}", p=p)
    compile_model(work, "nested", nested_model())
    for p in (True, False):
        for q in (True, False):
            check(work, "nested", f"nested {p} {q}".lower(), p=p, q=q)
    compile_model(work, "loop", loop_model())
    for n in (0, 1, 4, 9):
        check(work, "loop", f"loop {n}", n=n)
    compile_model(work, "bounded", bounded_model())
    for n in (-1, 2, 7):
        check(work, "bounded", f"bounded {n}", n=n)
    compile_model(work, "if", if_model(), "-fno-guard")
    check(work, "if", "-fno-guard", p=False)


main()
