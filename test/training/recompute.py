"""Memory limits of training steps.

    recompute.py FOLDER

A deep network of 12 blocks, gelu(x · w + b) · v + x, has weights that are small
beside its activations. However much of it is computed again, three steps give
the same losses and weights, bit for bit.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

folder = Path(sys.argv[1])
BLOCKS, ROWS, WIDE, NARROW = 12, 512, 64, 16
random = np.random.default_rng(1)
nodes, weights, x = [], {}, "x"
for i in range(BLOCKS):
    weights |= {f"w{i}": (NARROW, WIDE), f"b{i}": (WIDE,), f"v{i}": (WIDE, NARROW)}
    for op, inputs, output in (("MatMul", [x, f"w{i}"], "up"), ("Add", [f"up{i}", f"b{i}"], "bias"),
                               ("Gelu", [f"bias{i}"], "gelu"), ("MatMul", [f"gelu{i}", f"v{i}"], "down"),
                               ("Add", [f"down{i}", x], "sum")):
        nodes.append(helper.make_node(op, inputs, [f"{output}{i}"], f"block{i}/{output}"))
    x = f"sum{i}"
graph = helper.make_graph(
    nodes, "deep", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (ROWS, NARROW))],
    [helper.make_tensor_value_info(x, TensorProto.FLOAT, (ROWS, NARROW))],
    [numpy_helper.from_array((random.standard_normal(s) / 8).astype(np.float32), n) for n, s in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), folder / "deep.onnx")


def compile(name, flags, **options):
    """Returns the artifact, the arena's bytes and what fritc says."""
    (folder / "train.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "adamw"}, **options}))
    artifact = folder / f"{name}.so"
    done = subprocess.run(
        ["fritc", folder / "deep.onnx", f"--train={folder / 'train.json'}", "-v", "--memory-report", "-o", artifact,
         *flags], capture_output=True, text=True)
    arena = re.search(r"train_step\n(?:.*\n)*?  arena +([0-9.]+) ([KM]iB)", done.stdout)
    mebibytes = float(arena[1]) / (1 if arena[2] == "MiB" else 1024) if arena else None
    return artifact, mebibytes, done.stderr


def train(artifact):
    step, data = Step(artifact), np.random.default_rng(2)
    losses = [step.train(x=data.standard_normal((ROWS, NARROW)).astype(np.float32),
                         labels=data.integers(0, NARROW, ROWS))["loss"].tobytes() for _ in range(3)]
    state = {n: a.tobytes() for n, a in step.read().items()}
    step.close()
    return losses, state


cpu = ["-march=x86-64"]
artifact, all_memory, said = compile("all", cpu)
expected = train(artifact)
state = 3 * (BLOCKS * (2 * NARROW * WIDE + WIDE)) * 4 / 2**20 + 0.05
assert "run again" not in said
for name, part in ("three_quarters", 0.75), ("half", 0.5), ("third", 0.35):
    limit = state + all_memory * part
    artifact, arena, said = compile(name, [*cpu, f"-fmemory-limit={limit:.3f}M"])
    assert arena <= limit, (name, arena, limit)
    assert re.search(r"[1-9]\d* kernels of the forward pass may run again", said), said
    assert train(artifact) == expected, name
    print(f"{name}: {arena:.2f} of {all_memory:.2f} MiB")

# Named nodes run again; so do whole blocks.
for name, patterns in ("gelu", ["*/gelu"]), ("blocks", [f"block[0-9]/{n}" for n in ("up", "bias", "gelu")]):
    artifact, arena, said = compile(name, cpu, recompute=patterns)
    assert arena < 0.8 * all_memory, (name, arena)
    assert train(artifact) == expected, name
    print(f"{name}: {arena:.2f} of {all_memory:.2f} MiB")

# A GPU's plan runs the same kernels again.
_, gpu_memory, _ = compile("gpu", ["-march=sm_90a", "--emit=plan"])
_, arena, _ = compile("gpu", ["-march=sm_90a", "--emit=plan", f"-fmemory-limit={state + gpu_memory * 0.98:.3f}M"])
assert arena <= state + gpu_memory * 0.98

_, _, said = compile("none", [*cpu, f"-fmemory-limit={state + all_memory / 2:.3f}M"], recompute="none")
print(said.splitlines()[-1])
_, _, said = compile("small", [*cpu, "-fmemory-limit=1M"])
print(said.splitlines()[-1])
