"""Trains with several ranks: parallel.py WHAT FOLDER ...

make writes net.onnx, of any batch, the larger broad.onnx and train.json, wide
wide.npz with more samples. compare A B checks that two runs have the same losses
and weights, but for rounding, equal A B that they have the same weights, and
close A B that their losses differ, by 2% at most. launch VARIABLES STEPS starts
the ranks as a launcher does, alone only the first. killed SIGNAL [WHOM [STEP]]
ends a run or a rank, joining a process that waits for another.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

what, folder = sys.argv[1], Path(sys.argv[2])
os.chdir(folder)

NAMES = {"torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
         "mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                    "OMPI_COMM_WORLD_LOCAL_RANK"),
         "pmi": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
         "srun": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")}


def make():
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(3)
    weights = {"w": random.normal(0, 0.5, (4, 16)), "b": np.zeros(16),
               "v": random.normal(0, 0.5, (16, 3)), "c": np.zeros(3)}
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
         helper.make_node("Tanh", ["h"], ["t"]),
         helper.make_node("Gemm", ["t", "v", "c"], ["logits"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(value.astype(np.float32), name)
         for name, value in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
    graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((4, 16), np.float32), "w"))
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "other.onnx")
    # The parameters that decay are five rows of 4096, the others one.
    broad = {"w": random.normal(0, 0.5, (4, 2500)), "b": np.zeros(2500),
             "v": random.normal(0, 0.05, (2500, 3)), "c": np.zeros(3)}
    graph = helper.make_graph(
        graph.node, "broad", graph.input, graph.output,
        [numpy_helper.from_array(value.astype(np.float32), name)
         for name, value in broad.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "broad.onnx")
    # Batch norm in the middle; the gradient of a bias before it would be
    # rounding alone.
    vectors = {name: random.uniform(0.5, 1.5, 16) for name in
               ("scale", "shift", "mean", "variance")}
    norm = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]),
         helper.make_node("BatchNormalization", ["h", *vectors], ["n"]),
         helper.make_node("Tanh", ["n"], ["t"]),
         helper.make_node("Gemm", ["t", "v", "c"], ["logits"])],
        "norm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(value.astype(np.float32), name)
         for name, value in (weights | vectors).items() if name != "b"])
    onnx.save(helper.make_model(
        norm, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "norm.onnx")
    # b and c lie in a bucket of their own.
    Path("train.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"}, "clip_norm": 1.0,
         "optimizer": {"kind": "adamw", "weight_decay": 0.1,
                       "no_decay": ["b", "c"]}}))


def losses_of(run):
    entries = map(json.loads, Path(f"{run}.jsonl").read_text().splitlines())
    return {entry["step"]: entry["loss"] for entry in entries if "loss" in entry}


def deviations(a, b):
    """Returns the relative difference of two runs' losses at each step."""
    first, second = losses_of(a), losses_of(b)
    shared = sorted(set(first) & set(second))
    assert len(shared) >= 20, shared
    return [abs(first[step] - second[step]) / first[step] for step in shared]


def compare(a, b):
    apart = deviations(a, b)
    assert max(apart) <= 1e-4, apart
    print(f"{len(apart)} losses and ", end="")
    equal(a, b)


def close(a, b):
    apart = deviations(a, b)
    assert 0 < max(apart) <= 0.02, apart
    print(f"{len(apart)} losses are close")


def equal(a, b):
    first, second = (load_file(f"{run}.safetensors") for run in (a, b))
    # Running variances are corrected by the elements of a rank.
    first.pop("variance", None), second.pop("variance", None)
    assert sorted(first) == sorted(second) and "c" in first
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-3,
                                   atol=1e-4, err_msg=name)
    print(f"{len(first)} weights are the same")


def wide():
    np.savez("wide.npz", x=np.ones((2048, 4), np.float32),
             labels=np.ones(2048, np.int64))


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def start(names, rank, size, port, step, arguments):
    variables = dict(zip(names, map(str, (rank, size, rank))))
    return subprocess.Popen(
        ["frit-train", step, "--data=train.npz", "--device=cpu", "--threads=1", *arguments],
        env={**os.environ, **variables, "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(port)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def launch(kind, steps, *arguments):
    steps, port = steps.split(","), free_port()
    ranks = [start(NAMES[kind], rank, len(steps), port, step, arguments)
             for rank, step in enumerate(steps)]
    for rank, process in enumerate(ranks):
        out = process.communicate(timeout=60)[0]
        print(f"rank {rank}: {process.returncode}\n{out}", end="")


def killed(number, whom="all", step="two.so"):
    """Ends rank 1 of a run, or asks it to stop, or all as a terminal does."""
    # A shell's background jobs ignore SIGINT, and their children would too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run = subprocess.Popen(
        ["frit-train", step, "--data=train.npz", "--device=cpu", "--threads=1",
         "--devices=0-1", "--batch=8", "--steps=10000000", "--checkpoint=stopped",
         "--checkpoint-every=1000000", "--log=stopped.jsonl", "--log-every=1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    log = Path("stopped.jsonl")
    while not log.exists() or not log.stat().st_size:
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.02)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    assert len(children) == 2, children
    if number == "9" or whom == "rank":
        os.kill(int(children[1]), int(number))
    else:
        run.send_signal(int(number))
    error = run.communicate(timeout=60)[1]
    print(run.returncode, error, end="")
    for child in children:
        assert not Path(f"/proc/{child}").exists(), f"{child} still runs"


def alone():
    """Starts rank 0 of 3."""
    port = free_port()
    rank = start(NAMES["torchrun"], 0, 3, port, "two.so", ["--join-timeout=1"])
    out = rank.communicate(timeout=60)[0]
    print(rank.returncode, out.replace(str(port), "PORT"), end="")


def joining():
    """Kills a process that has made a group of 2 ranks and waits for the other."""
    before = set(os.listdir("/dev/shm"))
    source = """import sys
sys.path.insert(0, sys.argv[1])
from runtime import frit
module = frit.load("two.so", device="cpu")
group = module.group_id()
print("made", flush=True)
module.join(0, 2, group)"""
    process = subprocess.Popen([sys.executable, "-c", source, str(Path(__file__).parents[2] / "training")],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "made\n"
    time.sleep(0.3)
    assert process.poll() is None
    process.kill()
    process.communicate()
    left = {name for name in set(os.listdir("/dev/shm")) - before if name.startswith("frit")}
    print("left:" if left else "nothing is left", *left)


{"make": make, "wide": wide, "alone": alone, "joining": joining, "compare": compare, "close": close, "equal": equal, "launch": launch,
 "killed": killed}[what](*sys.argv[3:])
