#!/usr/bin/env python3
"""The cost of a symbolic sequence length: one artifact for all lengths compared
with one per length, on one GPU.

    lengths.py --bundle DIR [--model bert-large] [--lengths 17,128,200,384]

The model is exported with symbolic length and compiled once for all lengths up
to the longest, and once per length. Both run PyTorch's tokens in float16 and
are compared with its float32. Prints a table.
"""
import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from bundle import Frit
from run import LIMITS, zoo

PRECISION = "fp16"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--bundle", type=Path, required=True, metavar="DIR")
    add("--model", default="bert-large", choices=("bert-large", "gpt3-small"))
    add("--batch", type=int, default=1)
    add("--lengths", default=[17, 128, 200, 300, 384],
        type=lambda text: sorted(map(int, text.split(","))))
    add("--exporter", choices=zoo.EXPORTERS, default=zoo.EXPORTERS[0])
    add("--march", default="sm_90a")
    add("--work", type=Path, default=Path("/tmp/frit-lengths"))
    return parser.parse_args()


def main() -> int:
    args = parse()
    args.work.mkdir(parents=True, exist_ok=True)
    model = zoo.ZOO[args.model]["full"]
    module = zoo.make(model, "cuda")
    onnx = args.work / f"{args.model}.onnx"
    zoo.export(model, module, args.exporter, onnx, args.batch, dynamic="seq")
    frit = Frit(args.bundle, args.march, [])
    narrow = f"-ftype={model.output}:f16"

    def compiled(lengths: str) -> tuple[Path, dict]:
        artifact = args.work / f"{args.model}-{lengths}.so"
        return artifact, frit.compile(
            onnx, PRECISION, [f"-fshape=seq={lengths}", narrow], artifact)

    longest = args.lengths[-1]
    open_ended, result = compiled(f"1..{longest}")
    print(f"{args.model}, {PRECISION}, batch {args.batch}; lengths 1 to "
          f"{longest} take {result['compile_s']} s to compile and "
          f"{result['artifact_MiB']} MiB\n")
    print("| length | open, ms | compiled for it, ms | ratio | error |"
          "\n|---|---|---|---|---|")
    bad = False
    for length in args.lengths:
        ids = zoo.draw(model, args.batch)[:, :length]
        stem = args.work / f"length{length}"
        np.save(f"{stem}.npy", ids.numpy())
        with torch.no_grad():
            answer = module(ids.to("cuda")).cpu().numpy()
        np.savez(f"{stem}.npz", **{model.output: answer})
        given = f"--input={model.input}=@{stem}.npy"
        exact, _ = compiled(str(length))
        checks = [frit.check(file, given, Path(f"{stem}.npz"))
                  for file in (open_ended, exact)]
        times = [frit.bench(file, given)["ms"] for file in (open_ended, exact)]
        exact.unlink()
        error = max(check["error"] for check in checks)
        bad |= not error <= LIMITS[PRECISION]
        print(f"| {length} | {times[0]} | {times[1]} "
              f"| {times[0] / times[1]:.2f} | {error:.2g} |", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
