"""Measures whether a GPU waits for data: milliseconds of a step that frit-train
feeds from files, and of the same step on a batch that stays on the GPU.

    feed.py [--only NAME] [--steps N] BIN

BIN has fritc and frit-train; FRIT_RUNTIME names the runtime as a shared library.
The rows are those of train.py, with images of bytes. Each result is a line of
JSON; `waited` is what frit-train says that it waited for batches, per step.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from parallel import export_row, time_calls  # noqa: E402
from runtime import Step  # noqa: E402
from train import ROWS  # noqa: E402


def feed_row(args, folder, name):
    row = ROWS[name]
    x, y = row[1]()
    images = x.dim() == 4
    if images:
        x = (x * 64 + 128).clamp(0, 255).to(torch.uint8)
    export_row(folder, row, len(x), "m")
    subprocess.run([f"{args.bin}/fritc", f"--train={folder}/train.json", "-march=sm_90a",
                    f"-fprecision={row[3]}", *["-ftype=x:u8"] * images,
                    folder / "m.onnx", "-o", folder / "m.so"], check=True)
    (folder / "data").mkdir()
    for part, tensor in (("x", x), ("labels", y)):
        np.save(folder / "data" / f"{part}.npy", np.concatenate([tensor.numpy()] * 8))

    step = Step(str(folder / "m.so"), "cuda:0")
    inputs = {"x": x.cuda(), "labels": y.cuda()}
    torch.cuda.synchronize()
    resident = time_calls(lambda: step.enqueue(inputs),
                          torch.cuda.ExternalStream(step.stream()), args.steps)
    step.close()
    del inputs
    torch.cuda.empty_cache()

    # Two runs of different length leave out what happens once.
    runs = []
    for steps in (args.steps, 2 * args.steps):
        out = subprocess.run(
            [f"{args.bin}/frit-train", folder / "m.so", f"--data={folder}/data",
             f"--steps={steps}", "--workers=8", "--json"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        runs.append(json.loads(out))
    fed, waited = (1e3 * (runs[1][key] - runs[0][key]) / args.steps
                   for key in ("seconds", "seconds_waited_for_data"))
    print(json.dumps(dict(row=name, resident=resident, fed=round(fed, 3),
                          waited=round(waited, 3),
                          ratio=round(fed / resident, 3))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--only", default="resnet50|gpt3")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    for name in ROWS:
        if re.search(args.only, name):
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as made:
                feed_row(args, Path(made), name)


if __name__ == "__main__":
    main()
