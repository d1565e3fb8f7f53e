#!/usr/bin/env python3
"""Writes convolutional networks with random weights, and an input of each, for
cpu.py: convnets.py FOLDER. Needs PyTorch, torchvision and onnx.

Of torchvision: ResNet-18 and -50, MobileNetV3-S and -L. The others are built as
their authors do: YOLOv8-n of ultralytics, with 80 classes and its detection
head, and the generator of HiFi-GAN V1. The number of their parameters is
checked."""
import sys
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch import nn
from torch.nn import functional as F


class Conv(nn.Sequential):
    """A convolution with batch norm and SiLU."""

    def __init__(self, inside, outside, size=1, stride=1):
        super().__init__(
            nn.Conv2d(inside, outside, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(outside, eps=1e-3), nn.SiLU())


class Bottleneck(nn.Sequential):
    def __init__(self, channels, adds):
        super().__init__(Conv(channels, channels, 3),
                         Conv(channels, channels, 3))
        self.adds = adds

    def forward(self, x):
        return x + super().forward(x) if self.adds else super().forward(x)


class C2f(nn.Module):
    """Bottlenecks, each of whose results is kept."""

    def __init__(self, inside, outside, count, adds=False):
        super().__init__()
        half = outside // 2
        self.first = Conv(inside, outside)
        self.blocks = nn.ModuleList(Bottleneck(half, adds)
                                    for _ in range(count))
        self.last = Conv((2 + count) * half, outside)

    def forward(self, x):
        kept = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            kept.append(block(kept[-1]))
        return self.last(torch.cat(kept, 1))


class Pools(nn.Module):
    """Spatial pyramid pooling (SPPF)."""

    def __init__(self, channels):
        super().__init__()
        self.first = Conv(channels, channels // 2)
        self.last = Conv(channels * 2, channels)

    def forward(self, x):
        kept = [self.first(x)]
        for _ in range(3):
            kept.append(F.max_pool2d(kept[-1], 5, 1, 2))
        return self.last(torch.cat(kept, 1))


class Detect(nn.Module):
    """Boxes, as expectations over 16 distances, and the scores of classes."""

    def __init__(self, classes, channels, size):
        super().__init__()
        self.classes = classes
        boxes, scores = max(16, channels[0] // 4, 64), max(channels[0],
                                                          min(classes, 100))

        def head(width, outputs):
            return nn.ModuleList(
                nn.Sequential(Conv(c, width, 3), Conv(width, width, 3),
                              nn.Conv2d(width, outputs, 1)) for c in channels)
        self.boxes, self.scores = head(boxes, 64), head(scores, classes)
        self.mean = nn.Conv2d(16, 1, 1, bias=False)
        self.mean.weight.data[:] = torch.arange(16.).view(1, 16, 1, 1)
        centres, strides = [], []
        for stride in (8, 16, 32):
            at = torch.arange(size // stride) + 0.5
            y, x = torch.meshgrid(at, at, indexing="ij")
            centres.append(torch.stack((x, y), -1).view(-1, 2))
            strides.append(torch.full((len(centres[-1]), 1), float(stride)))
        self.register_buffer("centres", torch.cat(centres).t()[None])
        self.register_buffer("strides", torch.cat(strides).t())

    def forward(self, maps):
        both = torch.cat([
            torch.cat((box(x), score(x)), 1).flatten(2)
            for box, score, x in zip(self.boxes, self.scores, maps)], 2)
        box, scores = both.split((64, self.classes), 1)
        count, _, places = box.shape
        box = self.mean(box.view(count, 4, 16, places).transpose(2, 1)
                        .softmax(1)).view(count, 4, places)
        low, high = box.chunk(2, 1)
        low, high = self.centres - low, self.centres + high
        box = torch.cat(((low + high) / 2, high - low), 1) * self.strides
        return torch.cat((box, scores.sigmoid()), 1)


class Yolo(nn.Module):
    def __init__(self, size=640, classes=80):
        super().__init__()
        self.to8 = nn.Sequential(Conv(3, 16, 3, 2), Conv(16, 32, 3, 2),
                                 C2f(32, 32, 1, True), Conv(32, 64, 3, 2),
                                 C2f(64, 64, 2, True))
        self.to16 = nn.Sequential(Conv(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.to32 = nn.Sequential(Conv(128, 256, 3, 2), C2f(256, 256, 1, True),
                                  Pools(256))
        self.up16, self.up8 = C2f(384, 128, 1), C2f(192, 64, 1)
        self.step16, self.down16 = Conv(64, 64, 3, 2), C2f(192, 128, 1)
        self.step32, self.down32 = Conv(128, 128, 3, 2), C2f(384, 256, 1)
        self.detect = Detect(classes, (64, 128, 256), size)

    def forward(self, image):
        def double(x):
            return F.interpolate(x, scale_factor=2, mode="nearest")
        at8 = self.to8(image)
        at16 = self.to16(at8)
        at32 = self.to32(at16)
        a = self.up16(torch.cat((double(at32), at16), 1))
        b = self.up8(torch.cat((double(a), at8), 1))
        c = self.down16(torch.cat((self.step16(b), a), 1))
        d = self.down32(torch.cat((self.step32(c), at32), 1))
        return self.detect([b, c, d])


class Residual(nn.Module):
    def __init__(self, channels, size):
        super().__init__()

        def convs(dilations):
            return nn.ModuleList(
                nn.Conv1d(channels, channels, size, dilation=d,
                          padding=(size - 1) * d // 2) for d in dilations)
        self.wide, self.plain = convs((1, 3, 5)), convs((1, 1, 1))

    def forward(self, x):
        for wide, plain in zip(self.wide, self.plain):
            x = x + plain(F.leaky_relu(wide(F.leaky_relu(x, 0.1)), 0.1))
        return x


class HifiGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(80, 512, 7, padding=3)
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for i, (stride, size) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
            half = 256 >> i
            self.ups.append(nn.ConvTranspose1d(2 * half, half, size, stride,
                                               (size - stride) // 2))
            self.blocks.append(nn.ModuleList(Residual(half, s)
                                             for s in (3, 7, 11)))
        self.last = nn.Conv1d(32, 1, 7, padding=3)

    def forward(self, mel):
        x = self.first(mel)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / 3
        return torch.tanh(self.last(F.leaky_relu(x)))


def write(model, x, file: Path) -> None:
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_mean, -0.1, 0.1)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)
    torch.onnx.export(model.eval(), (x,), str(file.with_suffix(".onnx")),
                      input_names=["x"], output_names=["y"], opset_version=17,
                      dynamo=False)
    np.save(file.with_suffix(".npy"), x.numpy())


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in ("resnet18", "resnet50", "mobilenet_v3_small",
                 "mobilenet_v3_large"):
        write(getattr(torchvision.models, name)(weights=None),
              torch.randn(1, 3, 224, 224), folder / name)
    for name, model, x, parameters in (
            ("yolov8n", Yolo(), torch.rand(1, 3, 640, 640), 3_157_200),
            ("hifigan", HifiGan(), torch.randn(1, 80, 64), 13_926_017)):
        count = sum(p.numel() for p in model.parameters())
        assert count == parameters, (name, count)
        write(model, x, folder / name)


if __name__ == "__main__":
    main()
