#!/usr/bin/env python3
"""Times steps of Llama-shaped models that write one token, on one GPU.

    pip install frit-*.whl
    decode.py [--only 'llama-1b/int4/b1$'] [--backends frit,compile]

A row is model/weights/bBATCH: a step with --context tokens in the caches; or
model/weights/pTOKENS: a chunk of a prompt in empty caches. Weights are random.
`frit` compiles a folder of safetensors and is timed by frit_session_decode, the
choice of the token included, as the mean of steps about --context tokens, or by
frit_session_prefill; `compile` is decode_peers.py. Both are timed by the host's
clock, from tokens on the host to tokens, or a prompt's logits, on the host. The
floor is what reading the weights, and the caches, takes at the rate of a copy in
the same process. Each result is one JSON line; a table of them ends the output.
Needs torch, no network.
"""
import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import frit
import numpy as np
import torch

import decode_peers
from decode_peers import SHAPES

sys.path.append(str(Path(__file__).parent.parent / "language"))
import folders  # noqa: E402

# Bits of a weight with its share of scales and zero points, as peers store them.
BITS = {"bf16": 16, "int8": 8, "fp8": 8, "mxfp4": 4.25, "int4": 4.5}
ROWS = [f"llama-1b/{weights}/b{batch}" for weights in BITS for batch in (1, 8)]
ROWS += [f"llama-8b/{weights}/b{batch}" for weights in BITS for batch in (1, 8)]
ROWS += ["llama-1b/bf16/p512", "llama-8b/bf16/p2048"]
RUNS, STEPS, WARM_STEPS = 3, 100, 20  # of one token each
PROMPTS = 20
CAPACITY = 512  # more than the context


def parts(row: str) -> tuple[str, str, str, int]:
    model, weights, kind = row.split("/")
    return model, weights, kind[0], int(kind[1:])


def spread(times: list[float]) -> dict:
    return dict(ms=round(statistics.median(times), 4), least=round(min(times), 4),
                most=round(max(times), 4))


def write_folder(name: str, folder: Path, layers: int) -> None:
    """Writes weights of bf16, of which scores and sums are about 1 in every layer."""
    shape = SHAPES[name]
    config = folders.CONFIGS["llama"] | dict(
        dtype="bfloat16", max_position_embeddings=131072, hidden_size=shape.width,
        intermediate_size=shape.inner, num_hidden_layers=layers,
        num_attention_heads=shape.heads, num_key_value_heads=shape.pairs,
        vocab_size=shape.vocabulary)
    folder.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)

    def make(of):
        value = torch.randn(of, device=device)
        value = 1 + value / 10 if len(of) == 1 else value / of[-1] ** 0.5
        return value.bfloat16().view(torch.int16).cpu().numpy()

    folders.write_bf16(folder / "model.safetensors", folders.shapes(config), make)
    (folder / "config.json").write_text(json.dumps(config))  # last: the folder is whole


class Bench:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.results: list[dict] = []
        self.rate = decode_peers.copy_rate()
        self.start = time.time()

    def layers(self, model: str) -> int:
        return self.args.layers or SHAPES[model].layers

    def floor(self, row: str) -> dict:
        """Milliseconds; of a prompt, operations matter instead of bytes."""
        model, weights, kind, count = parts(row)
        if kind == "p":
            return {}
        shape = SHAPES[model]
        cache = 4 * count * self.layers(model) * shape.pairs * shape.head * self.args.context
        bytes = shape.weights(self.layers(model)) * BITS[weights] / 8 + cache
        return dict(floor_ms=round(bytes / self.rate * 1e3, 4))

    def folder(self, model: str) -> Path:
        folder = self.args.work / f"{model}-{self.layers(model)}"
        if not (folder / "config.json").exists():
            write_folder(model, folder, self.layers(model))
        return folder

    def compile(self, row: str) -> tuple[Path, float]:
        model, weights, kind, count = parts(row)
        artifact = self.args.work / f"{row.replace('/', '-')}.so"
        context = count if kind == "p" else self.args.context + CAPACITY
        chunks = f"1,{count}" if kind == "p" else "1" if self.args.context <= 2048 else "1,512"
        flags = [f"--context={context}", f"-fshape=chunk={chunks}"]
        flags += [f"--batch={count}"] if kind == "b" else []
        flags += [] if weights == "bf16" else [f"-fweights={weights}"]
        start = time.time()
        subprocess.run(["fritc", f"{self.folder(model)}/",
                        f"-march={self.args.march}", *flags, *self.args.fritc, "-o", artifact],
                       check=True, stderr=subprocess.PIPE, text=True)
        return artifact, time.time() - start

    def begin_steps(self, session: frit.Session, count: int) -> None:
        """Makes each sequence so long that the mean of the next STEPS steps is one with
        --context tokens in the caches."""
        begin = max(self.args.context - STEPS // 2 - WARM_STEPS, 1)
        for sequence in range(count):
            session.rewind(begin - 1, sequence)
            session.prefill([1], sequence)
        session.decode(WARM_STEPS)

    def frit(self, row: str) -> dict:
        model, _, kind, count = parts(row)
        artifact, seconds = self.compile(row)
        result = dict(compile_s=round(seconds, 1), artifact_MiB=artifact.stat().st_size >> 20)
        start = time.time()
        module = frit.load(artifact, device="cuda")
        rng = np.random.default_rng(1)
        vocabulary = SHAPES[model].vocabulary
        with frit.Session(module) as session:
            if kind == "p":
                prompt = rng.integers(0, vocabulary, count)
                times = decode_peers.time_host(
                    lambda: session.prefill(prompt), decode_peers.WARM_PROMPTS + PROMPTS,
                    prepare=lambda: session.rewind(0))
                result |= spread(times[decode_peers.WARM_PROMPTS:])
            else:
                for sequence in range(count):
                    session.prefill(rng.integers(0, vocabulary, self.args.context), sequence)
                result |= dict(open_and_prefill_s=round(time.time() - start, 2))
                result |= spread(decode_peers.time_host(
                    lambda: session.decode(STEPS), RUNS, STEPS,
                    prepare=lambda: self.begin_steps(session, count)))
        module.close()
        artifact.unlink()
        return result

    def peer(self, row: str) -> dict:
        model, weights, kind, count = parts(row)
        if weights not in decode_peers.LINEAR:
            return {}
        own = SHAPES[model], self.layers(model), weights, count
        if kind == "p":
            return spread(decode_peers.prompt(*own, PROMPTS))
        return spread(decode_peers.step(*own, self.args.context, CAPACITY, RUNS, STEPS))

    def report(self, **result) -> None:
        self.results.append(result)
        print(json.dumps(result), flush=True)

    def run(self) -> None:
        for row in filter(re.compile(self.args.only).search, ROWS):
            for backend in self.args.backends.split(","):
                if time.time() - self.start > self.args.budget:
                    self.report(row=row, backend=backend, failed="out of budget")
                    continue
                try:
                    result = self.frit(row) if backend == "frit" else self.peer(row)
                except Exception as error:  # the other rows go on
                    said = getattr(error, "stderr", None) or str(error)
                    self.report(row=row, backend=backend, failed=said.strip()[-400:])
                    continue
                if "ms" in result:
                    result |= self.floor(row)
                if "floor_ms" in result:
                    result |= dict(of_floor=round(result["floor_ms"] / result["ms"], 3))
                if result:
                    self.report(row=row, backend=backend, **result)


def table(results: list[dict]) -> str:
    columns = ("row", "backend", "ms", "floor_ms", "of_floor", "compile_s")
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for result in results:
        cells = [str(result.get(column, result.get("failed", "")[:40] if column == "ms" else ""))
                 for column in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--only", default="", metavar="REGEX", help="rows to run, such as llama-1b/bf16/")
    add("--backends", default="frit,compile", help="of frit and compile")
    add("--context", type=int, default=1024, help="tokens in the caches of a step")
    add("--layers", type=int, default=0, help="fewer or more layers than the model has")
    add("--march", default="native")
    add("--fritc", default=[], type=shlex.split, metavar="FLAGS", help="more flags for fritc")
    add("--budget", type=float, default=540, metavar="SECONDS", help="start no row after this long")
    add("--work", type=Path, default=Path("/tmp/frit-decode"), metavar="DIR",
        help="where folders are kept from one run to the next")
    return parser.parse_args()


def main() -> int:
    bench = Bench(parse())
    print(json.dumps(dict(gpu=torch.cuda.get_device_name(), copy_TBs=round(bench.rate / 1e12, 3),
                          torch=torch.__version__, command=shlex.join(sys.argv))), flush=True)
    bench.run()
    print(table(bench.results))
    return any("failed" in result for result in bench.results)


if __name__ == "__main__":
    sys.exit(main())
