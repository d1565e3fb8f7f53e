"""Trains a small GPT, BERT and Llama on a GPU with amp-bf16 and amp-fp8, and
compares losses, and replays of the CUDA graph with steps without one.

    train_losses.py [--steps N] [--seeds N] [--only NAME] [--precisions LIST] BIN

BIN has fritc. The texts are those of a chain of tokens of which each has four
successors; BERT restores texts of which 15 % of the tokens are hidden. Each seed
has weights and texts of its own. When a loss begins to fall depends on chance:
compare the average of several seeds with that of amp-bf16-noise, amp-bf16 whose
weights begin with noise as large as what e4m3 rounds away.

Each precision of a network is a line of JSON. `worst` has for each seed the
largest relative deviation of the mean of ten losses from that of the first
precision, `average` is the largest of their average over the seeds, and `after`
the step before it. `replays` says whether a second run has the same losses and
state, to the bit, and `eager` whether a run without CUDA graph has.
"""
import argparse
import functools
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
# Half the distance of two numbers of e4m3 is up to 6 % of them.
NOISE = 0.03
PRECISIONS = {
    "amp-bf16": ["-fprecision=amp-bf16"],
    "amp-bf16-noise": ["-fprecision=amp-bf16"],
    "amp-fp8": ["-fprecision=amp-fp8"],
    "amp-fp8-e4m3": ["-fprecision=amp-fp8", "-ffp8-gradients=e4m3"],
    "amp-fp8-bf16": ["-fprecision=amp-fp8", "-ffp8-gradients=bf16"],
}
NETWORKS = {
    "gpt": lambda: Language(6, 8, 512, VOCABULARY, LENGTH, True),
    "bert": lambda: Language(6, 8, 512, VOCABULARY, LENGTH, False),
    "llama": lambda: Llama(6, 8, 4, 512, 1408, VOCABULARY, LENGTH),
}


@functools.lru_cache(maxsize=16)
def texts(name, steps, seed=3):
    random = np.random.default_rng(seed)
    successors = random.integers(0, VOCABULARY, (VOCABULARY, 4))
    batches = []
    for _ in range(steps):
        text = np.empty((BATCH, LENGTH + 1), np.int64)
        text[:, 0] = random.integers(0, VOCABULARY, BATCH)
        for i in range(LENGTH):
            text[:, i + 1] = successors[text[:, i], random.integers(0, 4, BATCH)]
        x, labels = text[:, :-1].copy(), text[:, 1:].copy()
        if name == "bert":
            labels = x.copy()
            x[random.random(x.shape) < 0.15] = 0
        batches.append(dict(x=x, labels=labels))
    return batches


def weights(name, seed, noise):
    """The weights that a network begins with."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    state = {key: value.numpy() for key, value in NETWORKS[name]().state_dict().items()}
    if noise:
        state = {key: (w * (1 + noise * random.standard_normal(w.shape))).astype(w.dtype)
                 for key, w in state.items()}
    return state


def run(artifact, name, steps, flags=0, seed=1, noise=0):
    """The losses of steps, and the state after them as bytes."""
    step = Step(artifact, "cuda", flags)
    step.write(**weights(name, seed, noise))
    losses = [float(step.train(**text)["loss"]) for text in texts(name, steps, seed + 2)]
    state = {key: np.asarray(value).tobytes() for key, value in step.read().items()}
    step.close()
    return np.array(losses), state


def equal(a, b):
    return bool((a[0] == b[0]).all()) and a[1] == b[1]


def compare(args, name, make, folder):
    torch.manual_seed(1)
    batch = {key: torch.from_numpy(value).cuda()
             for key, value in texts(name, 1)[0].items()}
    export(make().train().cuda(), batch,
           {"kind": "adamw", "learning_rate": args.rate, "weight_decay": 0.01}, folder)
    wide = None
    for precision in args.precisions.split(","):
        artifact = folder / f"{precision}.so"
        subprocess.run([f"{args.bin}/fritc", folder / "m.onnx", "-march=sm_90a",
                        f"--train={folder}/train.json", *PRECISIONS[precision],
                        "-o", artifact], check=True)
        noise = NOISE if precision.endswith("-noise") else 0
        losses = np.array([run(artifact, name, args.steps, seed=seed, noise=noise)[0]
                           for seed in range(1, args.seeds + 1)])
        means = losses.reshape(args.seeds, -1, 10).mean(2)
        wide = means if wide is None else wide
        errors = means / wide - 1
        worst = errors[range(args.seeds), np.abs(errors).argmax(1)]
        average = errors.mean(0)
        at = np.abs(average).argmax()
        few = run(artifact, name, 8)
        print(json.dumps(dict(
            network=name, precision=precision, first=losses[0, 0],
            last=round(means[:, -1].mean(), 4), worst=worst.round(4).tolist(),
            average=round(average[at], 4), after=int(at) * 10,
            replays=equal(few, run(artifact, name, 8)),
            eager=equal(few, run(artifact, name, 8, NO_CUDA_GRAPH)))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--only", default=".")
    parser.add_argument("--steps", type=int, default=200, help="a multiple of 10")
    parser.add_argument("--seeds", type=int, default=1)
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
