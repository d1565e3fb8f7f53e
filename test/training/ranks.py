"""Ranks of the cpu target against one that has their batches together.

    ranks.py states FOLDER      the states that ranks end with are equal bits
    ranks.py one FOLDER [all]   and those of one rank, but for rounding

In FOLDER it writes and compiles a network of two convolutions with batch norm.
`one` tries combinations of options, or all of them; each is a line:

    sgd accumulate=2 clip fp32 -fshard-optimizer: 2 ranks 3e-07, ...
"""
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from runtime import frit  # noqa: E402

BATCH, CALLS = 16, 7
SYNC, SHARD, COMPRESS = "-fsync-batch-norm", "-fshard-optimizer", "-fcompress-gradients"


def write_network():
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(3)

    def weights(*shape, mean=0.0):
        return (mean + random.normal(0, 0.3, shape)).astype(np.float32)

    values, nodes, x = {}, [], "x"
    for name, channels in (("1", 3), ("2", 24)):
        values |= {f"conv{name}.weight": weights(24, channels, 3, 3),
                   f"norm{name}.weight": weights(24, mean=1),
                   f"norm{name}.bias": weights(24),
                   f"norm{name}.running_mean": weights(24),
                   f"norm{name}.running_var": weights(24, mean=2)}
        conv, *norm = list(values)[-5:]
        nodes += [helper.make_node("Conv", [x, conv], ["c" + name], pads=[1] * 4),
                  helper.make_node("BatchNormalization", ["c" + name, *norm], ["n" + name]),
                  helper.make_node("Relu", ["n" + name], ["r" + name])]
        x = "r" + name
    values |= {"fc.weight": weights(24, 5), "fc.bias": weights(5)}
    nodes += [helper.make_node("GlobalAveragePool", [x], ["p"]),
              helper.make_node("Flatten", ["p"], ["f"]),
              helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["logits"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "conv", [info("x", TensorProto.FLOAT, ["batch", 3, 6, 6])],
        [info("logits", TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(v, n) for n, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), "conv.onnx")


def compile_step(name, options, optimizer, accumulate, clip, overflows=False):
    """Compiles a step for 16, 8 and 4 samples. If it overflows, it does so on the
    first call."""
    kinds = {"sgd": {"kind": "sgd", "momentum": 0.9, "learning_rate": 0.02},
             "adamw": {"kind": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1,
                       "epsilon": 1e-3}}
    settings = {"loss": {"kind": "cross_entropy"}, "optimizer": kinds[optimizer],
                "accumulate": accumulate}
    settings |= {"clip_norm": 0.3} if clip else {}
    if overflows:
        settings["loss_scale"] = {"initial": 1e12, "backoff": 1e-8, "interval": 2}
    Path("train.json").write_text(json.dumps(settings))
    subprocess.run(["fritc", "conv.onnx", "--train=train.json", "-march=x86-64-v3",
                    "-fshape=batch=16,8,4", *options, "-o", name], check=True)
    return name


def samples(call):
    """The batch of all ranks. That of call 4 is large in its last two samples."""
    random = np.random.default_rng(call)
    x = random.normal(0, 1, (BATCH, 3, 6, 6)).astype(np.float32)
    if call == 4:
        x[-2:] *= 100
    return x, random.integers(0, 5, BATCH)


def train(rank, size, step, group, state, calls):
    """Makes calls on this rank's part of each batch; returns losses and state."""
    with frit.load(step, device="cpu", threads=1) as module:
        function = module.function(f"train_step_{BATCH // size}" if size > 1
                                   else "train_step")
        if size > 1:
            function.join(rank, size, group)
        if state:
            function.write_state(state)
        part = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        losses = []
        for call in calls:
            x, labels = samples(call)
            losses.append(float(function.run({"x": x[part], "labels": labels[part]})["loss"]))
        return losses, {name: np.array(value)
                        for name, value in function.read_state().items()}


def work(rank, pipe):
    """Does what it is told until there is nothing more."""
    while job := pipe.recv():
        if len(job) == 1:
            with frit.load(*job, device="cpu", threads=1) as module:
                pipe.send(module.group_id())
        else:
            pipe.send(train(rank, *job))


class Ranks:
    """Processes for up to 4 ranks."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(4):
            pipe, other = context.Pipe()
            self.pipes.append(pipe)
            self.processes.append(context.Process(target=work, args=(rank, other)))
            self.processes[-1].start()

    def train(self, size, step, state=None, calls=range(CALLS)):
        """Returns the losses and the state of each rank."""
        self.pipes[0].send((step,))
        group = self.receive(0)
        for pipe in self.pipes[:size]:
            pipe.send((size, step, group, state, calls))
        return [self.receive(rank) for rank in range(size)]

    def receive(self, rank):
        assert self.pipes[rank].poll(60), f"rank {rank} does not answer"
        return self.pipes[rank].recv()

    def close(self):
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join(20)


def differing(found):
    """Names of the states that are not those of rank 0, bit for bit."""
    first = found[0][1]
    return sorted({name for _, state in found[1:] for name in first
                   if first[name].tobytes() != state[name].tobytes()})


def check_states(ranks):
    own = sorted(f"norm{i}.running_{of}" for i in (1, 2) for of in ("mean", "var"))
    for precision, *options in (["fp32"], ["amp-bf16", COMPRESS, SHARD],
                                ["amp-fp16", SYNC, SHARD]):
        step = compile_step("states.so", [
            "-fdata-parallel", f"-fprecision={precision}", *options], "adamw", 2, True)
        for size in 2, 4:
            found = ranks.train(size, step)
            assert all(losses == found[0][0] for losses, _ in found)
            apart = differing(found)
            assert apart == ([] if SYNC in options else own), apart
            print(precision, *options, f"{size} ranks: {len(found[0][1])} states,",
                  f"{len(apart)} of each rank's own")


def distance(one, other, weights):
    """Returns the largest difference of two runs' losses and states, or only of the
    weights among these, and its name.

    A rank corrects its running variances by the elements that it has itself."""
    apart = {"loss": max(abs(a - b) / abs(b) for a, b in zip(one[0], other[0]))}
    for name, value in other[1].items():
        if not name.endswith("running_var") and not (weights and "/" in name):
            scale = np.abs(value).max() or 1
            apart[name] = np.abs(one[1][name].astype(np.float64) - value).max() / scale
    worst = max(apart, key=apart.get)
    return apart[worst], worst


def check_one(ranks, every):
    kinds = list(itertools.product(("sgd", "adamw"), (1, 2, 3), (False, True),
                                   ("fp32", "amp-fp16")))
    choices = [], [SHARD], [COMPRESS], [COMPRESS, SHARD], ["-fdeterministic", SHARD]
    if not every:
        check_kind(ranks, choices[:2], "adamw", 3, True, "amp-fp16")
        check_kind(ranks, choices[3:4], "sgd", 2, False, "fp32")
    for kind in kinds if every else []:
        check_kind(ranks, choices, *kind)


def check_kind(ranks, choices, optimizer, accumulate, clip, precision):
    given = optimizer, accumulate, clip, precision != "fp32"
    more = f"-fprecision={precision}",
    one = ranks.train(1, compile_step("one.so", more, *given))[0]
    steps = one[1]["step"]
    assert (steps < CALLS // accumulate) == (precision != "fp32"), steps
    whole = {}
    for options in choices:
        step = compile_step("ranks.so", ["-fdata-parallel", SYNC, *more, *options], *given)
        runs = {f"{size} ranks": ranks.train(size, step) for size in (1, 2, 4)}
        # Also in the middle of an accumulation.
        for first, second in (2, 2), (2, 4), (4, 1), (1, 2):
            state = ranks.train(first, step, calls=range(4))[0][1]
            runs[f"{first} then {second}"] = ranks.train(
                second, step, state, range(4, CALLS))
        found, texts = {}, []
        for name, run in runs.items():
            assert not differing(run), (name, differing(run))
            found[name] = run[0]
            reference = one if "ranks" in name else (one[0][4:], one[1])
            apart, of = distance(run[0], reference, COMPRESS in options)
            # bf16 keeps 8 bits of a gradient, fp16 11 of a value.
            limit = 0.1 if COMPRESS in options else 1e-2 if given[3] else 3e-5
            assert apart <= limit, (given, options, name, apart, of)
            texts.append(f"{name} {apart:.0e}")
        # Going on with as many ranks changes no bit, nor do shards.
        assert not differing([runs["2 ranks"][0], runs["2 then 2"][0]])
        key = COMPRESS in options
        for name, run in found.items():
            first = whole.setdefault((key, name), run)
            assert first[0] == run[0] and not differing([first, run]), (options, name)
        print(optimizer, f"accumulate={accumulate}", *(["clip"] if clip else []), *more,
              *options, f"({steps} steps):", ", ".join(texts), flush=True)


if __name__ == "__main__":
    what, folder, *rest = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    write_network()
    processes = Ranks()
    try:
        if what == "states":
            check_states(processes)
        else:
            check_one(processes, rest == ["all"])
    finally:
        processes.close()
