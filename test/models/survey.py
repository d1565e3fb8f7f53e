#!/usr/bin/env python3
"""Compiles public architectures: which of them are supported, how many
kernels they become, and whether their results equal PyTorch's.

    survey.py --out DIR [--only REGEX] [--bin build/dev/bin] [--jobs N]
              [--device cpu|cuda] [--precision fp32|fp16|bf16] [--batch N]
              [--tokens N] [--fritc FLAGS]

needs torch, torchvision, timm, transformers and onnxscript (any environment).
Weights are random, language models are cut to two layers. Models are exported
once, by both of PyTorch's exporters, into DIR. A line reports on one:

    NAME-EXPORTER  NODES nodes  kernels K (library L, attention A, copies C)
                   compile S s  error E

K counts a call's kernels for sm_90a in fp16, L those for a library to run, C
those that only move elements between others; E is the largest deviation on the
cpu by the largest value, in f32. In 16 bits, which is what runs on a GPU unless
--precision says otherwise, it goes on:

    error E (T)  MS ms (eager MS, graph MS)

E is ||out - ref|| / ||ref|| against PyTorch in f32 on the cpu, T that of
PyTorch in the same 16-bit type, and the times are of a call on the GPU: frit's,
eager PyTorch's, and those of the same kernels in a CUDA graph. A decoder's E is
at most 1.2 T, others' 1.5 T or 1e-2. Exit status 1: one was rejected or differs.
"""
import argparse
import concurrent.futures
import io
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

from architectures import DECODERS, Case, cases, seeded

sys.path.append(str(Path(__file__).parent.parent / "bench"))
from measure import measure, relative_error


@torch.no_grad()
def write(build: Callable[[], Case], exporter: str, path: Path) -> None:
    """The model, its inputs and what PyTorch makes of them, beside `path`."""
    model, inputs = seeded(build)
    y = model(*inputs)
    y = y[0] if isinstance(y, (tuple, list)) else y
    options = (dict(dynamo=True, verbose=False, external_data=False)
               if exporter == "dynamo" else
               dict(dynamo=False, opset_version=17))
    with redirect_stdout(io.StringIO()):  # what it says where it fails
        torch.onnx.export(model, inputs, path, **options)
    graph = onnx.load(path).graph
    np.savez(path.with_suffix(".in.npz"), **{
        i.name: x.numpy() for i, x in zip(graph.input, inputs)})
    np.savez(path.with_suffix(".out.npz"), **{graph.output[0].name: y.numpy()})


def call(*command) -> tuple[subprocess.CompletedProcess, float]:
    """Runs a command that must succeed; returns it and its seconds."""
    start = time.time()
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done, time.time() - start


def given(path: Path) -> str:
    return f"--input=@{path.with_suffix('.in.npz')}"


def library_calls(fused: str) -> int:
    """Counts schedules of cuBLAS and cuDNN: codegen/cuda/library/*.td."""
    return len(re.findall(r"schedule\(#cuda\.(?:cublas|cudnn)_", fused))


def compiled(path: Path, args: argparse.Namespace) -> str:
    """Compiles a model; the library goes next to it."""
    done, _ = call(args.bin / "fritc", "-march=sm_90a", "-fprecision=fp16",
                   "-Rpass-missed=fusion", *args.fritc, "--emit=fused", path,
                   "-o", "-")
    main = done.stdout.split("func.func @prepare")[0]
    kernels = len(re.findall(r"= nn\.fusion\(", main))
    libraries = library_calls(main)
    attentions = len(re.findall(r"= nn\.attention ", main))
    copies = done.stderr.count("only moves elements")
    march = "x86-64-v3" if args.device == "cpu" else "sm_90a"
    _, seconds = call(args.bin / "fritc", f"-march={march}",
                      f"-fprecision={args.precision}", *args.fritc, path, "-o",
                      path.with_suffix(".so"))
    return (f"{len(onnx.load(path).graph.node)} nodes  kernels {kernels} "
            f"(library {libraries}, attention {attentions}, copies {copies})  "
            f"compile {seconds:.1f} s")


def outputs(path: Path, args: argparse.Namespace
            ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the library's results and PyTorch's."""
    result = path.with_suffix(".frit.npz")
    call(args.bin / "frit-run", path.with_suffix(".so"),
         f"--device={args.device}", given(path), f"--output=@{result}")
    with (np.load(path.with_suffix(".out.npz")) as expected,
          np.load(result) as found):
        (name,) = expected.files
        return found[name].astype(np.float64), expected[name].astype(np.float64)


def in_32_bits(path: Path, args: argparse.Namespace) -> str:
    out, expected = outputs(path, args)
    error = np.abs(out - expected).max() / (np.abs(expected).max() or 1)
    text = f"error {error:.1e}"
    if not error <= 1e-4:
        raise RuntimeError(text)
    return text


def milliseconds(step: Callable[[], object]) -> float:
    return measure(lambda _: step(), seconds=0.5)["ms"]


def narrowed(build: Callable[[], Case], args: argparse.Namespace) -> Case:
    """The model and its inputs in 16 bits, on the device."""
    model, inputs = seeded(build)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[args.precision]
    return model.to(args.device, dtype), tuple(
        x.to(args.device, dtype if x.is_floating_point() else x.dtype)
        for x in inputs)


def first(y) -> np.ndarray:
    y = y[0] if isinstance(y, (tuple, list)) else y
    return y.float().cpu().numpy().astype(np.float64)


@torch.no_grad()
def pytorch(build: Callable[[], Case],
            args: argparse.Namespace) -> tuple[np.ndarray, str]:
    """In 16 bits: the output, and milliseconds on a GPU."""
    model, inputs = narrowed(build, args)
    if args.device == "cpu":
        return first(model(*inputs)), ""
    torch.backends.cudnn.benchmark = True
    if any(isinstance(part, nn.Conv2d) for part in model.modules()):
        model = model.to(memory_format=torch.channels_last)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step = partial(model, *inputs)
        eager = milliseconds(step)
        y = step()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream):
                step()
            replayed = milliseconds(graph.replay)
        except RuntimeError:  # what it does on the host is in no graph
            replayed = float("nan")
    return first(y), f"(eager {eager:.3f}, graph {replayed:.3f})"


def in_16_bits(path: Path, name: str, args: argparse.Namespace) -> str:
    out, expected = outputs(path, args)
    error = relative_error(out, expected)
    half, times = pytorch(cases(args.batch, args.tokens)[name], args)
    theirs = relative_error(half, expected)
    text = f"error {error:.1e} ({theirs:.1e})"
    if args.device == "cuda":
        done, _ = call(args.bin / "frit-run", path.with_suffix(".so"),
                       given(path), "--bench", "--duration=500ms",
                       "--no-transfers", "--json")
        text += f"  {json.loads(done.stdout)['ms']:.3f} ms {times}"
    bound = 1.2 * theirs if name in DECODERS else max(1e-2, 1.5 * theirs)
    # Random weights are too large for f16 in some.
    if np.isfinite(theirs) and not error <= bound:
        raise RuntimeError(text)
    return text


def path_of(name: str, exporter: str, args: argparse.Namespace) -> Path:
    size = f"-b{args.batch}" if args.batch > 1 else ""
    size += f"-s{args.tokens}" if args.tokens != 128 else ""
    return args.out / f"{name}{size}-{exporter}.onnx"


def prepare(name: str, exporter: str,
            args: argparse.Namespace) -> tuple[str, str]:
    """Exports and compiles a model; returns a short and a long report."""
    torch.set_num_threads(max(1, os.cpu_count() // args.jobs))
    warnings.filterwarnings("ignore")
    path = path_of(name, exporter, args)
    try:
        if not path.exists():
            write(cases(args.batch, args.tokens)[name], exporter, path)
    except Exception as error:  # PyTorch's, not ours
        path.unlink(missing_ok=True)
        return "not exported", (str(error).splitlines() or [""])[0][:80]
    try:
        return "taken", compiled(path, args)
    except RuntimeError as error:
        return "FAILED", str(error)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="regex of NAME-EXPORTER")
    parser.add_argument("--bin", type=Path, default=Path("build/dev/bin"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--fritc", type=str.split, default=[], metavar="FLAGS")
    parser.add_argument("--jobs", type=int, default=1,
                        help="models that are exported and compiled at once")
    args = parser.parse_args()
    args.precision = args.precision or ("fp32" if args.device == "cpu" else
                                        "fp16")
    args.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    count = dict.fromkeys(("taken", "FAILED", "not exported"), 0)
    with concurrent.futures.ProcessPoolExecutor(
            args.jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = [(name, exporter, pool.submit(prepare, name, exporter, args))
                   for name in cases(args.batch, args.tokens)
                   for exporter in ("dynamo", "torchscript")
                   if re.search(args.only, f"{name}-{exporter}")]
        for name, exporter, done in waiting:
            path = path_of(name, exporter, args)
            became, text = done.result()
            try:
                if became == "taken":
                    text += "  " + (in_32_bits(path, args)
                                    if args.precision == "fp32" else
                                    in_16_bits(path, name, args))
            except RuntimeError as error:
                became, text = "FAILED", f"{text}  {error}"
            path.with_suffix(".so").unlink(missing_ok=True)
            count[became] += 1
            said = "" if became == "taken" else f"{became}: "
            print(f"{path.stem}  {said}{text}", flush=True)
    print(", ".join(f"{n} {became}" for became, n in count.items()))
    sys.exit(count["FAILED"] > 0 or count["taken"] == 0)


if __name__ == "__main__":
    main()
