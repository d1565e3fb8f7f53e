#!/usr/bin/env python3
"""Compares frit's results and times with PyTorch's on real models, on one GPU.

    run.py --bundle DIR [--only 'resnet50/fp16'] [--backends frit,eager]

Every row (model/precision/batch) is exported by PyTorch, compiled by fritc,
run, compared with PyTorch's float32 results, and timed together with PyTorch in this
same process. Each result is one JSON line; a table of them ends the output.
"""
import argparse
import copy
import gc
import itertools
import json
import math
import re
import shlex
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import onnx
import torch

import decoders
import memory
import peers
import roofline
import spread
import table
from bundle import Frit

sys.path.append(str(Path(__file__).parent.parent / "models"))
import zoo  # noqa: E402

BATCHES = {"resnet50": (1, 32, 128), "bert-large": (1, 32),
           "vit-b16": (1, 32), "gpt3-small": (1,)}
MODELS = {name: sizes["full"] for name, sizes in zoo.ZOO.items()}
# A prompt each, in bf16 alone: fp16 has no room for Gemma's activations.
for name, (build, length, vocabulary) in decoders.DECODERS.items():
    BATCHES[name] = (1,)
    MODELS[name] = zoo.Model(build, zoo.tokens(length, vocabulary), "ids",
                             "logits")
# Greatest accepted ‖out − ref‖ / ‖ref‖; tf32 rounds operands as fp16 does.
LIMITS = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 3e-2}
DECODER_LIMIT = 5e-2  # of random decoders, on which PyTorch's own is up to 0.3
ROTATED = 4  # inputs that a peer is timed on in rotation
# Types of inputs and outputs, the same as the peers': names for -ftype.
NARROW = {"fp16": (torch.float16, "f16"), "bf16": (torch.bfloat16, "bf16")}
# `untuned` has schedules from the cost model only.
FRITS = {"frit": [], "untuned": ["-fno-tuned"]}


def rows_of(pattern: str) -> list[tuple[str, int, str]]:
    return [(name, batch, precision) for name, batches in BATCHES.items()
            for batch, precision in itertools.product(batches, LIMITS)
            if (precision == "bf16" or not name.startswith("hf-"))
            and re.search(pattern, f"{name}/{precision}/b{batch}")]


class Bench:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.start = time.time()
        self.results: list[dict] = []
        self.module = None  # of the model whose rows are running
        self.ceilings: dict[str, roofline.Ceilings] = {}
        self.work = args.work
        self.work.mkdir(parents=True, exist_ok=True)
        if args.profile:
            args.profile.mkdir(parents=True, exist_ok=True)
        if args.no_export_cache:
            for answer in self.work.glob("*.npz"):
                answer.unlink()
        self.frits = {name: Frit(args.bundle, args.march, args.fritc + flags)
                      for name, flags in FRITS.items()}
        self.context = memory.context()

    def report(self, **result) -> None:
        if "error" in result:
            error = result["error"]
            name, precision = result["row"].split("/")[:2]
            limit = (DECODER_LIMIT if name.startswith("hf-")
                     else LIMITS[precision])
            result["pass"] = error <= limit
            result["error"] = (float(f"{error:.3g}")
                               if math.isfinite(error) else None)
        self.results.append(result)
        print(json.dumps(result), flush=True)

    def export(self, name: str, batch: int) -> Path:
        """The row's files, without suffix. The answer is written last, so where
        there is one the other files are whole."""
        stem = self.work / f"{name}-{self.args.exporter}-b{batch}"
        answer = Path(f"{stem}.npz")
        if not answer.exists():
            model = MODELS[name]
            zoo.export(model, self.module, self.args.exporter,
                       Path(f"{stem}.onnx"), batch)
            zoo.reference(model, self.module, stem, batch)
        return stem

    def row(self, name: str, batch: int, precision: str) -> None:
        model = MODELS[name]
        row = f"{name}/{precision}/b{batch}"
        # The floor is counted on meta tensors, which transformers' masks are not.
        if not self.args.check_only and not name.startswith("hf-"):
            self.roofline(row, name, batch, precision)
        for backend in self.args.backends:
            if time.time() - self.start > self.args.budget:
                self.report(row=row, backend=backend, skipped="out of budget")
                continue
            gc.collect()
            torch.cuda.empty_cache()
            result = dict(row=row, backend=backend)
            try:
                stem = self.export(name, batch)
                if backend in self.frits:
                    self.run_frit(result, stem, model, precision)
                else:
                    result |= self.run_peer(backend, stem, name, batch,
                                            precision)
            except Exception as failure:  # a broken row must not cost the rest
                said = f"{type(failure).__name__}: {failure}"
                result |= dict(failed=said[:600])
            self.report(**result)

    def run_frit(self, result: dict, stem: Path, model: zoo.Model,
                 precision: str) -> None:
        """Fills in the result, so that a failure leaves what came before it."""
        given, types = self.narrow(stem, model, precision)
        source = Path(f"{stem}.onnx")
        graph = onnx.load(source, load_external_data=False).graph
        result |= dict(onnx_nodes=len(graph.node))
        frit = self.frits[result["backend"]]
        name = f"{result['row'].replace('/', '-')}-{result['backend']}"
        artifact = self.work / f"{name}.so"
        result |= frit.compile(source, precision, types, artifact)
        result |= frit.info(artifact)
        result |= frit.check(artifact, given, Path(f"{stem}.npz"))
        if not self.args.check_only:
            result |= frit.bench(artifact, given)
        if self.args.profile:
            text = frit.profile(artifact, given)
            name = artifact.with_suffix(".profile.txt").name
            (self.args.profile / name).write_text(text)
        artifact.unlink()

    def narrow(self, stem: Path, model: zoo.Model,
               precision: str) -> tuple[str, list[str]]:
        """The input as frit-run is given it, and flags for fritc: floats go in
        and come out in the row's precision, as the peers'."""
        file = Path(f"{stem}.{model.input}.npy")
        types = []
        if precision in NARROW:
            dtype, name = NARROW[precision]
            types.append(f"-ftype={model.output}:{name}")
            values = torch.from_numpy(np.load(file))
            if values.is_floating_point():
                types.append(f"-ftype={model.input}:{name}")
                file = file.with_suffix(f".{name}.npy")
                # numpy has no bfloat16; frit-run takes its bits.
                bits = values.to(dtype).view(torch.int16).numpy()
                np.save(file, bits.view(np.float16 if name == "f16"
                                        else np.uint16))
        return f"--input={model.input}=@{file}", types

    def run_peer(self, backend: str, stem: Path, name: str, batch: int,
                 precision: str) -> dict:
        """Imports only the named peer: JAX may be missing."""
        model = MODELS[name]
        first = torch.from_numpy(np.load(f"{stem}.{model.input}.npy"))
        others = [zoo.draw(model, batch, seed=2 + i)
                  for i in range(ROTATED - 1)]
        with np.load(f"{stem}.npz") as answers:
            expected = answers[model.output]
        timed = not self.args.check_only
        if backend == "xla":
            import xla
            return xla.run(self.module, [first, *others], precision, expected,
                           timed)
        result = peers.run(backend, self.module, [first, *others], precision,
                           expected, timed)
        if backend == "eager" and self.args.alone:
            result |= peers.process(self.module, name, precision, batch,
                                    stem.with_suffix(".weights.pt"))
        return result

    def roofline(self, row: str, name: str, batch: int,
                 precision: str) -> None:
        if precision not in self.ceilings:
            measured = self.ceilings[precision] = roofline.measure(precision)
            self.report(precision=precision, backend="ceilings",
                        copy_TBs=round(measured.copy / 1e12, 2),
                        product_TFLOPs=round(measured.product / 1e12))
        model = MODELS[name]
        found = roofline.contractions(copy.deepcopy(self.module),
                                      zoo.draw(model, batch))
        floor = self.ceilings[precision].floor_ms(found, precision)
        self.report(row=row, backend="floor", ms=round(floor, 4))

    def run(self) -> None:
        for name, rows in itertools.groupby(rows_of(self.args.only),
                                            key=lambda row: row[0]):
            self.module = zoo.make(MODELS[name], "cuda")
            for row in rows:
                self.row(*row)

    def spread(self) -> None:
        """Runs the rows on several GPUs, large batches first because they take long."""
        rows = sorted(rows_of(self.args.only), key=lambda row: -row[1])
        for result in spread.run(
                sys.argv, self.args.gpus, self.args.work,
                [f"{name}/{precision}/b{batch}"
                 for name, batch, precision in rows],
                self.start + self.args.budget):
            self.results.append(result)
            print(json.dumps(result), flush=True)
        order = {f"{name}/{precision}/b{batch}": i for i, (
            name, batch, precision) in enumerate(rows_of(self.args.only))}
        self.results.sort(key=lambda r: order.get(r.get("row"), -1))


def parse() -> argparse.Namespace:
    major, minor = torch.cuda.get_device_capability()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--bundle", type=Path, required=True, metavar="DIR",
        help="the unpacked portable bundle: bin/fritc, bin/frit-run")
    add("--only", default="", metavar="REGEX",
        help="rows to run, such as resnet50/fp16/b1$")
    add("--backends", default="frit,eager,compile",
        type=lambda names: names.split(","),
        help=f"{', '.join(FRITS)}, {', '.join(peers.BACKENDS)}, xla")
    add("--budget", type=float, default=540, metavar="SECONDS",
        help="start nothing after this long")
    add("--gpus", type=int, default=1, metavar="N",
        help="spread the rows over this machine's first N GPUs, each row with\n"
        "its peers on one of them")
    add("--alone", action="store_true",
        help="also start a process of eager PyTorch's own for its first output\n"
        "and its memory")
    add("--check-only", action="store_true", help="compare, time nothing")
    add("--exporter", choices=zoo.EXPORTERS, default=zoo.EXPORTERS[0])
    add("--march", default=f"sm_{major}{minor}{'a' * (major >= 9)}")
    add("--fritc", default=[], type=shlex.split, metavar="FLAGS",
        help="more flags for the compiler")
    add("--profile", type=Path, metavar="DIR",
        help="leave what frit-run says of each step there, ROW.profile.txt")
    add("--work", type=Path, default=Path("/tmp/frit-bench"), metavar="DIR",
        help="where exports are kept from one run to the next")
    add("--no-export-cache", action="store_true", help="export anew")
    return parser.parse_args()


def main() -> int:
    bench = Bench(parse())
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True, text=True).stdout.strip()
    frit = (bench.frits["frit"].version()
            if FRITS.keys() & bench.args.backends else None)
    print(json.dumps(dict(
        date=date.today().isoformat(), gpu=torch.cuda.get_device_name(),
        driver=driver, torch=torch.__version__, frit=frit,
        cudnn=torch.backends.cudnn.version(),
        context_MiB=memory.mebibytes(bench.context),
        command=shlex.join(sys.argv))), flush=True)
    if bench.args.gpus > 1:
        bench.spread()
    else:
        bench.run()
    print(table.markdown(bench.results, bench.args.backends, set(FRITS)))
    bad = [r for r in bench.results
           if "failed" in r or (r["backend"] in FRITS
                                and not r.get("pass", True))]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
