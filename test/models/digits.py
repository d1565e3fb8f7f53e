#!/usr/bin/env python3
"""Trains the demo model on scikit-learn's handwritten digits and writes it.

    digits.py [--out test/models]

digits.onnx takes one 8x8 image, digits-dynamic.onnx any number of them; both
give the probabilities of the ten digits. digits.npz holds 16 images the network
was not trained on, with their labels and what PyTorch makes of them;
digit_0.npy ... digit_9.npy hold one of each, as the model takes it.
"""
import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from zoo import shorten


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 10), nn.Softmax(dim=1))


def split() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images in [0, 1] and labels: four fifths to train on, the rest held
    out."""
    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)
    train, test = torch.randperm(len(labels)).tensor_split(
        [len(labels) * 4 // 5])
    return images[train], labels[train], images[test], labels[test]


def shifted(images: Tensor) -> Tensor:
    """The images moved by up to a pixel: there are few to learn from."""
    down, right = torch.randint(-1, 2, (2,)).tolist()
    return F.pad(images, (1, 1, 1, 1))[..., 1 + down:9 + down,
                                       1 + right:9 + right]


def train(module: nn.Sequential, images: Tensor, labels: Tensor,
          epochs: int = 60) -> None:
    logits = module[:-1]
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3)
    steps = -(-len(images) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 1e-2, total_steps=epochs * steps)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = F.cross_entropy(logits(shifted(images[batch])),
                                   labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def export(module: nn.Module, path: Path, images: Tensor, **options) -> None:
    torch.onnx.export(module, (images,), path, dynamo=True, verbose=False,
                      external_data=False, input_names=["image"],
                      output_names=["probabilities"], **options)
    shorten(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    out = parser.parse_args().out

    torch.manual_seed(0)
    images, labels, held_out, answers = split()
    module = network()
    train(module, images, labels)
    module.eval()
    with torch.no_grad():
        right = (module(held_out).argmax(1) == answers).float().mean()
        print(f"right on {right:.1%} of {len(answers)} held-out images")

        # One of each digit first, so that the 16 hold them all.
        first = [int((answers == digit).nonzero()[0]) for digit in range(10)]
        rest = [i for i in range(len(answers)) if i not in first]
        chosen = first + rest[:6]
        logits = module[:-1](held_out[chosen])
        np.savez(out / "digits.npz", image=held_out[chosen].numpy(),
                 label=answers[chosen].numpy(), logits=logits.numpy(),
                 probabilities=module(held_out[chosen]).numpy())
    for digit, index in enumerate(first):
        np.save(out / f"digit_{digit}.npy", held_out[index:index + 1].numpy())

    export(module, out / "digits.onnx", held_out[:1])
    export(module, out / "digits-dynamic.onnx", held_out[:2],
           dynamic_shapes=({0: torch.export.Dim("batch")},))


if __name__ == "__main__":
    main()
