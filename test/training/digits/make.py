#!/usr/bin/env python3
"""Writes what the training demo needs: a network with random weights, and
handwritten digits to train and test it.

    make.py [SCIKIT-LEARN's and PyTorch's Python runs it]

The digits are the test part of "Optical Recognition of Handwritten Digits" (E.
Alpaydin and C. Kaynak, UCI Machine Learning Repository, CC BY 4.0), as
scikit-learn ships it: 8x8 pixels of 0 to 16. Four fifths are to train on.
"""
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from sklearn.datasets import load_digits
from torch import nn

HERE = Path(__file__).parent
BATCH = 64


class Network(nn.Module):
    """Takes pixels as they are; a batch norm scales them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm2d(1),
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 10))

    def forward(self, image):
        return self.layers(image)


def main():
    torch.manual_seed(0)
    # PRESERVE keeps batch norms apart from convolutions.
    torch.onnx.export(
        Network().eval(), torch.zeros(BATCH, 1, 8, 8), HERE / "model.onnx",
        input_names=["image"], output_names=["logits"], dynamo=False,
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    digits = load_digits()
    images = digits.images.astype(np.uint8)[:, None]
    order = np.random.default_rng(0).permutation(len(images))
    split = len(images) * 4 // 5
    for name, part in ("train", order[:split]), ("test", order[split:]):
        save_file({"image": images[part],
                   "labels": digits.target[part].astype(np.int64)},
                  HERE / f"{name}.safetensors")


main()
