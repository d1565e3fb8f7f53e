"""Training on several GPUs of one host: equal results, and milliseconds a step.

    parallel.py [--only NAME] [--ranks 1,2] [--backends frit,ddp] [--check]
                [--flags=-fcompress-gradients] BIN

BIN has fritc; FRIT_RUNTIME names the runtime as a shared library, and FRIT_NCCL
a libnccl.so.2 that is not on the loader's path. The rows are those of train.py,
whose batch is that of one rank. Each result is a line of JSON.

--check trains each row that computes in fp32 for some steps, on one rank and on
two with half the batch, and compares losses and weights; a deviation beyond
rounding ends the program with status 1.
"""
import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
from runtime import Step  # noqa: E402
from train import (ROWS, export, loss_of, named, optimizer_of,  # noqa: E402
                   place_model, placed)


def export_row(folder, row, **options):
    """Exports a row, for batches of its size, and writes its train.json."""
    make, data, optimizer, _ = row
    torch.manual_seed(1)
    export(make().train(), named(*data()), optimizer, folder, **options)


def compile_row(args, folder, row, name, *more):
    """Compiles what export_row() wrote."""
    subprocess.run([f"{args.bin}/fritc", f"--train={folder}/train.json",
                    "-fdata-parallel", "-march=sm_90a", f"-fprecision={row[3]}",
                    folder / "m.onnx", "-o", folder / f"{name}.so",
                    *more, *args.flags.split()],
                   check=True)
    return str(folder / f"{name}.so")


def open_rank(step, rank, size, ids):
    """Opens a step on the GPU of a rank and joins the group of all."""
    torch.cuda.set_device(rank)
    opened = Step(step, f"cuda:{rank}")
    if not rank:
        group = opened.group_id()
        for _ in range(size):
            ids.put(group)
    opened.join(rank, size, ids.get())
    return opened


def train_rank(rank, size, step, name, ids, results, steps):
    """Trains on this rank's part of each batch."""
    opened = open_rank(step, rank, size, ids)
    torch.manual_seed(0)
    losses = []
    for _ in range(steps):
        inputs = named(*ROWS[name][1]())
        own = len(inputs["x"]) // size
        part = slice(rank * own, (rank + 1) * own)
        inputs = {n: t[part].numpy().copy() for n, t in inputs.items()}
        losses.append(float(opened.train(**inputs)["loss"]))
    if not rank:
        results.put((losses, opened.read()))
    opened.close()


def time_rank(rank, size, step, name, ids, results, _):
    """Times a step. All ranks make the same number of calls."""
    opened = open_rank(step, rank, size, ids)
    torch.manual_seed(rank)
    inputs = {n: t.cuda() for n, t in named(*ROWS[name][1]()).items()}
    torch.cuda.synchronize()
    stream = torch.cuda.ExternalStream(opened.stream())
    report(rank, results, time_calls(lambda: opened.enqueue(inputs), stream))
    opened.close()


def time_ddp(rank, size, step, name, ids, results, _):
    """Times PyTorch's DistributedDataParallel with torch.compile."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577")
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=size)
    make, data, optimizer, precision = ROWS[name]
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    *x, y = map(placed, named(*data()).values())
    model = place_model(make())
    network = torch.compile(torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[rank], gradient_as_bucket_view=True), dynamic=False)
    update = optimizer_of(model, optimizer)

    def call():
        with torch.autocast("cuda", torch.bfloat16, enabled=precision != "fp32"):
            loss = loss_of(network(*x), y)
        loss.backward()
        update.step()
        update.zero_grad(set_to_none=True)
    report(rank, results, time_calls(call, torch.cuda.current_stream()))
    torch.distributed.destroy_process_group()


def time_calls(call, stream, count=60, warm=20):
    """Milliseconds of a call among many that follow each other."""
    for _ in range(warm):
        call()
    stream.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(stream)
    for _ in range(count):
        call()
    end.record(stream)
    end.synchronize()
    return round(begin.elapsed_time(end) / count, 3)


def report(rank, results, milliseconds):
    if not rank:
        results.put(milliseconds)


def run_ranks(work, size, step, name, extra):
    """Runs `work` in a process per rank; returns what rank 0 found."""
    context = multiprocessing.get_context("spawn")
    ids, results = context.Queue(), context.Queue()
    ranks = [context.Process(target=work, args=(rank, size, step, name, ids,
                                                results, extra))
             for rank in range(size)]
    for process in ranks:
        process.start()
    found, deadline = None, time.time() + 400
    while found is None:
        try:
            found = results.get(timeout=1)
        except Exception:
            dead = [p.exitcode for p in ranks if p.exitcode]
            if dead or time.time() > deadline:
                for process in ranks:
                    process.kill()
                raise RuntimeError(f"a rank ended with {dead}" if dead else "too long")
    for process in ranks:
        process.join(60)
    return found


def check_row(args, folder, name, steps=20):
    make, data, optimizer, precision = ROWS[name]
    # At a low rate rounding does not grow from step to step.
    row = make, data, optimizer | {"learning_rate": 1e-4}, precision
    inputs = named(*data())
    # One file for both, since exporting runs batch norms, which leaves its mark
    # on their statistics.
    export_row(folder, row, dynamic_axes={n: {0: "batch"} for n in inputs})
    batch = len(inputs["x"])
    whole, half = (
        compile_row(args, folder, row, part, f"-fshape=batch={size}", "-fsync-batch-norm")
        for part, size in (("whole", batch), ("half", batch // 2)))
    losses, weights = run_ranks(train_rank, 1, whole, name, steps)
    halves, others = run_ranks(train_rank, 2, half, name, steps)
    deviation = max(abs(a - b) / abs(a) for a, b in zip(losses, halves))
    apart = {n: float(np.abs(w - others[n]).max() / (np.abs(w).max() + 1e-12))
             for n, w in weights.items() if w.dtype == np.float32 and "/" not in n}
    worst = max(apart, key=apart.get)
    # A ReLU whose operand rounds to the other side of 0 moves a bias, which has
    # only its updates, by percents; a gradient that is not averaged by much more.
    kinks = any(isinstance(m, torch.nn.ReLU) for m in make().modules())
    good = deviation < 1e-3 and apart[worst] < (0.1 if kinks else 1e-2)
    print(json.dumps(dict(row=name, steps=steps, loss=float(deviation),
                          weight=apart[worst], of=worst, good=good)), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--only", default="amp")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--backends", default="frit,ddp")
    parser.add_argument("--flags", default="", help="of fritc")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    good = True
    for name, row in ROWS.items():
        if not re.search(args.only, name):
            continue
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as made:
            folder = Path(made)
            if args.check:
                good &= row[3] != "fp32" or check_row(args, folder, name)
                continue
            if "frit" in args.backends:
                export_row(folder, row)
                compile_row(args, folder, row, "m")
            for backend in args.backends.split(","):
                result = dict(row=name, backend=backend)
                for size in map(int, args.ranks.split(",")):
                    try:
                        result[f"ms_{size}"] = run_ranks(
                            time_rank if backend == "frit" else time_ddp, size,
                            str(folder / "m.so"), name, 0)
                    except Exception as error:
                        result["error"] = f"{size} ranks: {error}"
                print(json.dumps(result), flush=True)
    sys.exit(not good)


if __name__ == "__main__":
    main()
