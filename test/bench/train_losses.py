"""Trains a small GPT, BERT and Llama on a GPU with amp-bf16 and amp-fp8, and
compares losses, and replays of the CUDA graph with steps without one.

    train_losses.py [--steps N] [--rate R] [--only NAME] [--precisions LIST] BIN

BIN has fritc. The texts are those of a chain of tokens of which each has four
successors; BERT's hide 15 % of the tokens, which alone count. Each network is a
line of JSON: `worst` is the largest relative deviation of the mean of ten losses
from that of the first precision, and `after` the step before them. `replays`
says whether a second run has the same losses and state, to the bit, and `eager`
whether a run without CUDA graph has.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from runtime import NO_CUDA_GRAPH, Step  # noqa: E402
from networks import Language, Llama  # noqa: E402
from train import export  # noqa: E402

VOCABULARY, BATCH, LENGTH = 512, 16, 256
PRECISIONS = {
    "amp-bf16": ["-fprecision=amp-bf16"],
    "amp-fp8": ["-fprecision=amp-fp8"],
    "amp-fp8-e4m3": ["-fprecision=amp-fp8", "-ffp8-gradients=e4m3"],
}
NETWORKS = {
    "gpt": lambda: Language(6, 8, 512, VOCABULARY, LENGTH, True),
    "bert": lambda: Language(6, 8, 512, VOCABULARY, LENGTH, False),
    "llama": lambda: Llama(6, 8, 4, 512, 1408, VOCABULARY, LENGTH),
}


def texts(name, steps):
    random = np.random.default_rng(3)
    successors = random.integers(0, VOCABULARY, (VOCABULARY, 4))
    for _ in range(steps):
        text = np.empty((BATCH, LENGTH + 1), np.int64)
        text[:, 0] = random.integers(0, VOCABULARY, BATCH)
        for i in range(LENGTH):
            text[:, i + 1] = successors[text[:, i], random.integers(0, 4, BATCH)]
        x, labels = text[:, :-1].copy(), text[:, 1:].copy()
        if name == "bert":
            hidden = random.random(x.shape) < 0.15
            labels = np.where(hidden, x, -100)
            x[hidden] = 0
        yield dict(x=x, labels=labels)


def run(artifact, name, steps, flags=0):
    """The losses of steps, and the state after them as bytes."""
    step = Step(artifact, "cuda", flags)
    losses = [float(step.train(**text)["loss"]) for text in texts(name, steps)]
    state = {key: np.asarray(value).tobytes() for key, value in step.read().items()}
    step.close()
    return np.array(losses), state


def equal(a, b):
    return bool((a[0] == b[0]).all()) and a[1] == b[1]


def compare(args, name, make, folder):
    torch.manual_seed(1)
    batch = {key: torch.from_numpy(value).cuda()
             for key, value in next(texts(name, 1)).items()}
    export(make().train().cuda(), batch,
           {"kind": "adamw", "learning_rate": args.rate, "weight_decay": 0.01}, folder)
    wide = None
    for precision in args.precisions.split(","):
        artifact = folder / f"{precision}.so"
        subprocess.run([f"{args.bin}/fritc", folder / "m.onnx", "-march=sm_90a",
                        f"--train={folder}/train.json", *PRECISIONS[precision],
                        "-o", artifact], check=True)
        losses, _ = run(artifact, name, args.steps)
        means = losses.reshape(-1, 10).mean(1)
        wide = means if wide is None else wide
        error = np.abs(means / wide - 1)
        few = run(artifact, name, 8)
        print(json.dumps(dict(
            network=name, precision=precision, first=losses[0],
            last=round(means[-1], 4), worst=round(error.max(), 5),
            after=int(error.argmax()) * 10,
            replays=equal(few, run(artifact, name, 8)),
            eager=equal(few, run(artifact, name, 8, NO_CUDA_GRAPH)))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--only", default=".")
    parser.add_argument("--steps", type=int, default=200, help="a multiple of 10")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--precisions", default=",".join(PRECISIONS),
                        help="in this order; the first is the one to compare with")
    args = parser.parse_args()
    for name, make in NETWORKS.items():
        if re.search(args.only, name):
            with tempfile.TemporaryDirectory() as folder:
                compare(args, name, make, Path(folder))


if __name__ == "__main__":
    main()
