#!/usr/bin/env python3
"""Times the cpu target beside ONNX Runtime: floats and 8 bits, one thread and two.

    cpu_table.py --bin build/release/bin [--only 'mobilenet|lstm'] [--work DIR]

Writes the networks of convnets.py, BERT-base and LSTMs with random weights, and
what onnxruntime.quantization makes of them. fritc compiles each for every
--march. The artifacts and ONNX Runtime are timed in turn, each on the same
cores, which share no core of the processor. Prints a JSON line per row, and a
table. Needs torch, torchvision, transformers, onnx and onnxruntime.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torchvision
from onnxruntime import quantization
from torch import nn

import convnets

FORMS = ("f32", "qdq", "qoperator", "dynamic")
VISION = ("resnet18", "resnet50", "mobilenet_v3_small", "mobilenet_v3_large")
ROWS = {name: FORMS if name != "resnet18" else FORMS[:1] for name in VISION}
ROWS |= {"yolov8n": ("f32",), "hifigan": ("f32",)}
ROWS |= {"bert_base": ("f32", "qdq", "dynamic"),
         "lstm_256": ("f32", "dynamic"), "lstm_2x512": ("f32", "dynamic")}
# What is quantized of a network without convolutions.
PRODUCTS = ["MatMul", "Gemm", "LSTM"]


class Lstm(nn.Module):
    def __init__(self, size: int, layers: int):
        super().__init__()
        self.layers = nn.LSTM(size, size, layers)

    def forward(self, x):
        return self.layers(x)[0]


class Bert(nn.Module):
    def __init__(self):
        from transformers import BertConfig, BertModel
        super().__init__()
        self.model = BertModel(BertConfig(attn_implementation="eager"),
                               add_pooling_layer=False)

    def forward(self, x):
        return self.model(x).last_hidden_state


def build(name: str) -> tuple[nn.Module, torch.Tensor]:
    if name in VISION:
        return getattr(torchvision.models, name)(weights=None), torch.randn(1, 3, 224, 224)
    return {"yolov8n": lambda: (convnets.Yolo(), torch.rand(1, 3, 640, 640)),
            "hifigan": lambda: (convnets.HifiGan(), torch.randn(1, 80, 64)),
            "bert_base": lambda: (Bert(), torch.randint(30522, (1, 128))),
            "lstm_256": lambda: (Lstm(256, 1), torch.randn(32, 1, 256)),
            "lstm_2x512": lambda: (Lstm(512, 2), torch.randn(32, 1, 512))}[name]()


class Inputs(quantization.CalibrationDataReader):
    def __init__(self, x: np.ndarray):
        self.feeds: Iterator[dict] = iter([{"x": x}])

    def get_next(self) -> dict | None:
        return next(self.feeds, None)


def quantize(source: Path, form: str, path: Path) -> None:
    data = Inputs(np.load(source.with_suffix(".npy")))
    # As its authors ask for: a bias that layers share must be an initializer.
    prepared = path.with_suffix(".prepared.onnx")
    quantization.shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
    source = prepared
    graph = onnx.load(source).graph
    weights = {tensor.name for tensor in graph.initializer}
    chosen = {}
    if not any(node.op_type == "Conv" for node in graph.node):
        chosen = dict(op_types_to_quantize=PRODUCTS, extra_options=dict(MatMulConstBOnly=True),
                      nodes_to_exclude=[
                          node.name for node in graph.node
                          if node.op_type == "MatMul" and node.input[1] not in weights])
    if form == "dynamic":
        # ONNX Runtime has no ConvInteger with weights of i8.
        quantization.quantize_dynamic(source, path, weight_type=(
            quantization.QuantType.QInt8 if chosen else quantization.QuantType.QUInt8), **chosen)
        return
    quantization.quantize_static(
        source, path, data, per_channel=True,
        quant_format=(quantization.QuantFormat.QDQ if form == "qdq"
                      else quantization.QuantFormat.QOperator),
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8, **chosen)


def export(work: Path, name: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if not (work / f"{name}.onnx").exists():
        convnets.write(*build(name), work / name)


def quantize_row(work: Path, name: str, form: str) -> None:
    if not (path := work / f"{name}.{form}.onnx").exists():
        quantize(work / f"{name}.onnx", form, path)


def file(work: Path, name: str, form: str) -> Path:
    return work / (f"{name}.onnx" if form == "f32" else f"{name}.{form}.onnx")


def cores() -> list[int]:
    """One processor of each core that this process may use."""
    seen: set[str] = set()
    chosen = []
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        mark = siblings.read_text() if siblings.exists() else str(cpu)
        if mark not in seen:
            chosen.append(cpu)
        seen.add(mark)
    return chosen


def row(args: argparse.Namespace, lane: list[int], name: str, form: str, threads: int) -> dict:
    """Times a model's artifacts and ONNX Runtime in turn."""
    os.sched_setaffinity(0, lane[:threads])
    source, x = file(args.work, name, form), args.work / f"{name}.npy"
    result: dict = dict(model=name, form=form, threads=threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"])
    fed = {"x": np.load(x)}

    def ort() -> float:
        times, start = [], time.perf_counter()
        while len(times) < 3 or time.perf_counter() - start < args.seconds:
            before = time.perf_counter()
            session.run(None, fed)
            times.append(time.perf_counter() - before)
        return statistics.median(times) * 1e3

    def frit(march: str) -> float:
        done = subprocess.run(
            [args.bin / "frit-run", source.with_suffix(f".{march}.so"), "--device=cpu",
             f"--threads={threads}", f"--input=x=@{x}", "--bench", "--json",
             "--warmup=100ms", f"--duration={int(args.seconds * 1e3)}ms"],
            capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-300:])
        return json.loads(done.stdout)["ms"]

    try:
        rounds = [(ort(), *map(frit, args.march)) for _ in range(args.rounds)]
    except Exception as fault:
        return result | dict(failed=str(fault))
    times = [statistics.median(side) for side in zip(*rounds)]
    result["onnxruntime_ms"] = round(times[0], 3)
    for march, ms in zip(args.march, times[1:]):
        result[march] = round(ms, 3)
        result[f"{march} ratio"] = round(statistics.median(
            each[1 + args.march.index(march)] / each[0] for each in rounds), 3)
    return result


def check(args: argparse.Namespace, name: str, form: str) -> dict:
    """Compiles a model for each target; how far results are from ONNX Runtime's."""
    source, x = file(args.work, name, form), args.work / f"{name}.npy"
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": np.load(x)})[0].astype(np.float64)
    result: dict = dict(model=name, form=form)
    for march in args.march:
        artifact, out = source.with_suffix(f".{march}.so"), source.with_suffix(f".{march}.npy")
        start = time.time()
        for command in (["fritc", source, "-o", artifact, f"-march={march}"],
                        ["frit-run", artifact, "--device=cpu", f"--input=x=@{x}",
                         f"--output=@{out}"]):
            done = subprocess.run([args.bin / command[0], *command[1:]],
                                  capture_output=True, text=True)
            if done.returncode:
                return result | dict(failed=done.stderr[-300:])
        got = np.load(out)
        result[march] = dict(seconds=round(time.time() - start, 1), error=float(
            np.linalg.norm(got - expected) / np.linalg.norm(expected)))
    return result


def profile(args: argparse.Namespace, lane: list[int], name: str, form: str,
            threads: int) -> None:
    """Leaves what both say of each step in the folder."""
    os.sched_setaffinity(0, lane[:threads])
    source, x = file(args.work, name, form), args.work / f"{name}.npy"
    stem = args.profile / f"{name}.{form}.{threads}"
    done = subprocess.run([args.bin / "frit-run", source.with_suffix(f".{args.march[0]}.so"),
                           "--device=cpu", f"--threads={threads}", f"--input=x=@{x}", "--profile"],
                          capture_output=True, text=True)
    Path(f"{stem}.frit.txt").write_text(done.stdout + done.stderr)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_profiling = True
    options.profile_file_prefix = f"{stem}.ort"
    session = onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"])
    fed = {"x": np.load(x)}
    for _ in range(20):
        session.run(None, fed)
    events: dict[str, list[float]] = {}
    trace = Path(session.end_profiling())
    for event in json.loads(trace.read_text()):
        if event["name"].endswith("_kernel_time"):
            shapes = "".join(f" {list(shape.values())[0]}"
                             for shape in event["args"]["input_type_shape"])
            key = f"{event['args']['op_name']:24} {event['name'][:-12]}{shapes}"
            events.setdefault(key, []).append(event["dur"])
    trace.unlink()
    Path(f"{stem}.ort.txt").write_text("".join(
        f"{statistics.median(times):9.1f} us  {key}\n" for key, times in events.items()))


def table(results: list[dict], marches: list[str]) -> Iterator[str]:
    columns = ["model", "form", "threads", "onnxruntime_ms"]
    columns += [column for march in marches for column in (march, f"{march} ratio")]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for result in sorted(
            results, key=lambda r: (r["model"], FORMS.index(r["form"]), r["threads"])):
        yield "| " + " | ".join(str(result.get(c, "failed")) for c in columns) + " |"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--bin", type=Path, required=True, metavar="DIR", help="where fritc and frit-run are")
    add("--only", default="", metavar="REGEX", help="rows such as resnet50/qdq")
    add("--march", default=["x86-64-v3", "native"], type=lambda text: text.split(","))
    add("--work", type=Path, default=Path("/tmp/frit-cpu"), metavar="DIR")
    add("--profile", type=Path, metavar="DIR", help="leave profiles of both there")
    add("--profiled", default="", metavar="REGEX", help="rows to profile")
    add("--lanes", type=int, default=1, help="models timed at a time, on other cores")
    add("--jobs", type=int, default=1, help="models exported at a time")
    add("--rounds", type=int, default=3)
    add("--seconds", type=float, default=1)
    return parser.parse_args()


def main() -> int:
    args = parse()
    args.work.mkdir(parents=True, exist_ok=True)
    rows = [(name, form) for name, forms in ROWS.items() for form in forms
            if re.search(args.only, f"{name}/{form}")]
    start = time.time()

    def tell(what: str) -> None:
        print(f"{time.time() - start:.0f} s: {what}", file=sys.stderr, flush=True)

    with ProcessPoolExecutor(args.jobs, get_context("fork")) as pool:
        for each in [pool.submit(export, args.work, name) for name in dict(rows)]:
            each.result()
        tell("exported")
        pending = {each: pool.submit(quantize_row, args.work, *each)
                   for each in rows if each[1] != "f32"}
        for (name, form), each in pending.items():
            if fault := each.exception():
                print(json.dumps(dict(model=name, form=form, failed=repr(fault))))
                rows.remove((name, form))
        tell("quantized")
    with ThreadPoolExecutor(args.jobs) as pool:
        checked = list(pool.map(lambda each: check(args, *each), rows))
    for each in checked:
        print(json.dumps(each), flush=True)
    tell("compiled")
    free = cores()
    tell(f"cores {free}")
    # Leaves the first core to the system.
    lanes = [free[i:i + 2] for i in range(len(free) > 2, len(free) - 1, 2)][:args.lanes]
    good = [(each["model"], each["form"], threads) for each in checked
            if "failed" not in each for threads in (1, 2)]
    results = []

    def work(lane: list[int]) -> None:
        with ProcessPoolExecutor(1, get_context("spawn")) as one:
            while good:
                each = good.pop(0)
                results.append(one.submit(row, args, lane, *each).result())
                print(json.dumps(results[-1]), flush=True)
                if args.profile and re.search(args.profiled, f"{each[0]}/{each[1]}"):
                    one.submit(profile, args, lane, *each).result()

    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(work, lanes))
    tell("timed")
    print("\n".join(table(results, args.march)))
    return any("failed" in each for each in [*checked, *results])


if __name__ == "__main__":
    sys.exit(main())
