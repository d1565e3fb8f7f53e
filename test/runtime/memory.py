"""Checks that calls on the CPU take no more memory than frit states.

    memory.py TINY FOLDER MEMORY_TEST
"""
import json
import pathlib
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

TINY, FOLDER, MEMORY_TEST = sys.argv[1:]
FOLDER = pathlib.Path(FOLDER)
MIB = 1 << 20


def save(name, nodes, inputs, outputs, types=None):
    """A model of float tensors; `inputs` and `outputs` are shapes."""
    def value(name, shape):
        return helper.make_tensor_value_info(
            name, (types or {}).get(name, TensorProto.FLOAT), shape)
    graph = helper.make_graph(
        nodes, "main", [value(*i) for i in inputs.items()],
        [value(*o) for o in outputs.items()])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                          ir_version=10), FOLDER / f"{name}.onnx")


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def compile_model(source, name, *flags):
    """The artifact, and the arena that fritc and frit-run report."""
    library = FOLDER / f"{name}.so"
    report = run(["fritc", source, "-march=x86-64", "-o", library,
                  "--memory-report", *flags], check=True).stdout
    info = json.loads(
        run(["frit-run", library, "--info", "--json"], check=True).stdout)
    arena = info["targets"][0]["arena_bytes"]
    told = "  arena     " + (f"{arena / MIB:.1f} MiB" if arena >= MIB else
                             f"{arena / 1024:.1f} KiB" if arena >= 1024 else f"{arena} B")
    assert told in report, f"{name}: not '{told}' but\n{report}"
    assert info["device"]["context_bytes"] >= arena, info
    assert info["device"]["copy_bytes"] == sum(
        tensor["bytes"] for tensor in info["inputs"] + info["outputs"]), info
    return library, arena


# Kernels with temporaries that are too large for the stack.
ROWS = 1 << 18
make = helper.make_node
save("softmax", [make("Softmax", ["x"], ["y"], axis=-1)],
     {"x": [3, ROWS]}, {"y": [3, ROWS]})
save("topk", [make("Constant", [], ["k"], value_ints=[5]),
              make("TopK", ["x", "k"], ["v", "i"], axis=-1)],
     {"x": [3, ROWS]}, {"v": [3, 5], "i": [3, 5]}, {"i": TensorProto.INT64})
save("concat", [make("Concat", ["x", "x"], ["c"], axis=0),
                make("ReduceMax", ["c"], ["y"], keepdims=0)],
     {"x": [64, ROWS]}, {"y": []})
save("cumulate", [make("Constant", [], ["axis"], value_int=1),
                  make("Exp", ["x"], ["e"]),
                  make("CumSum", ["e", "axis"], ["c"]),
                  make("Log", ["c"], ["y"])],
     {"x": [3, ROWS]}, {"y": [3, ROWS]})

own = ["softmax", "topk", "concat", "cumulate"]
libraries, workspaces = [], 0
for name in own:
    library, arena = compile_model(FOLDER / f"{name}.onnx", name)
    libraries.append(library)
    workspaces += "workspace(" in run(
        ["fritc", FOLDER / f"{name}.onnx", "-march=x86-64", "--emit=plan", "-o",
         "-"], check=True).stdout
assert workspaces > 1, "none of these kernels has a workspace"
for name in ("resnet50-dynamo", "vit-b16-dynamo", "bert-large-torchscript",
             "gpt3-small-dynamo", "llama-1b-dynamo"):
    source = pathlib.Path(TINY) / f"{name}.onnx"
    libraries.append(compile_model(source, name)[0])
source = pathlib.Path(TINY) / "resnet50-dynamo-dynamic.onnx"
libraries.append(compile_model(source, "variants", "-fshape=batch=1..3")[0])

# The size of a call is an input, and a length that depends on data an output.
save("mean", [make("ReduceMean", ["x"], ["y"], keepdims=1)],
     {"x": ["batch", 8]}, {"y": [1, 1]})
libraries.append(compile_model(FOLDER / "mean.onnx", "mean",
                               "-fshape=batch=3..4")[0])
save("count", [make("NonZero", ["x"], ["y"])], {"x": [5, 8]},
     {"y": [2, "n"]}, {"y": TensorProto.INT64})
libraries.append(compile_model(FOLDER / "count.onnx", "count")[0])

# Weights that train are state.
digits = pathlib.Path(TINY).parents[1] / "training/digits"
libraries.append(compile_model(digits / "model.onnx", "train",
                               f"--train={digits / 'train.json'}")[0])
counted = run([MEMORY_TEST, *libraries])
assert counted.returncode == 0, counted.stdout + counted.stderr

# Results are the same with one thread and with more threads than work items.
x = np.random.default_rng(1).standard_normal((3, ROWS)).astype(np.float32)
np.savez(FOLDER / "x.npz", x=x)
exact = np.exp(x.astype(np.float64))
np.savez(FOLDER / "y.npz",
         y=(exact / exact.sum(-1, keepdims=True)).astype(np.float32))
for threads in ("1", "7"):
    run(["frit-run", FOLDER / "softmax.so", f"--input=@{FOLDER / 'x.npz'}",
         f"--compare={FOLDER / 'y.npz'}", f"--threads={threads}"], check=True)

# Without enough memory, frit-run says so.
library, arena = compile_model(FOLDER / "concat.onnx", "concat")
assert arena > 64 * MIB, arena
limited = run(["frit-run", library, "--threads=1"], preexec_fn=lambda:
              resource.setrlimit(resource.RLIMIT_AS, (arena, arena)))
assert limited.returncode > 0, limited
assert "not enough memory" in limited.stderr, limited.stderr
