#!/usr/bin/env python3
"""The real models frit is held to, as PyTorch exports them.

    zoo.py --size tiny --out test/models/tiny     rewrite the files in the tree
    zoo.py --size full --out DIR --only resnet50  a full size model

Each model is written as ONNX by both of PyTorch's exporters, its input as
STEM.INPUT.npy, and what PyTorch makes of it in float32 as STEM.npz, keyed by
output name. Weights are random, but no scale is one and no shift is zero, so
that dropping one shows.
"""
import argparse
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models import ResNet, VisionTransformer
from torchvision.models.resnet import Bottleneck

EXPORTERS = ("dynamo", "torchscript")


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        heads = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                 for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(*heads, is_causal=self.causal)
        return self.out(y.transpose(1, 2).flatten(2))


def mlp(width: int, gelu: str) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu),
                         nn.Linear(4 * width, width))


class GptBlock(nn.Module):
    """Normalises before each half, as GPT-2 and GPT-3 do."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=True)
        self.mlp = mlp(width, "tanh")

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class BertBlock(nn.Module):
    """Normalises after each half, as the first Transformer did."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)
        self.attention = Attention(width, heads, causal=False)
        self.mlp = mlp(width, "none")

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Gpt(nn.Module):
    """A decoder whose output layer is its token table."""

    def __init__(self, layers: int, width: int, heads: int, vocab: int,
                 context: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(
            *(GptBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        x = self.blocks(self.tokens(ids) + self.positions(at))
        return F.linear(self.norm(x), self.tokens.weight)


class Bert(nn.Module):
    """An encoder up to its last hidden state; one segment, nothing masked."""

    def __init__(self, layers: int, width: int, heads: int, vocab: int,
                 context: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.Sequential(
            *(BertBlock(width, heads) for _ in range(layers)))

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        first = torch.zeros_like(ids)
        x = self.tokens(ids) + self.positions(at) + self.segments(first)
        return self.blocks(self.norm(x))


class TinyResNet(ResNet):
    """ResNet-50's blocks, fewer and narrower."""

    def __init__(self):
        super().__init__(Bottleneck, [1, 1, 1, 1], num_classes=10)
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(Bottleneck, 4, 2)
        self.layer2 = self._make_layer(Bottleneck, 8, 1, stride=2)
        self.layer3 = self._make_layer(Bottleneck, 12, 1, stride=2)
        self.layer4 = self._make_layer(Bottleneck, 16, 1, stride=2)
        self.fc = nn.Linear(64, 10)


def images(size: int) -> Callable[[int, torch.Generator], Tensor]:
    """Smooth patches under noise: unlike bare noise, no two look the same to a
    network that ends in an average."""

    def draw(batch: int, rng: torch.Generator) -> Tensor:
        patches = torch.randn(batch, 3, 4, 4, generator=rng)
        noise = torch.randn(batch, 3, size, size, generator=rng)
        return F.interpolate(patches, size=size, mode="bilinear") + noise / 4

    return draw


def tokens(length: int, vocab: int) -> Callable[[int, torch.Generator], Tensor]:
    return lambda batch, rng: torch.randint(vocab, (batch, length),
                                            generator=rng)


@dataclass(frozen=True)
class Model:
    build: Callable[[], nn.Module]
    draw: Callable[[int, torch.Generator], Tensor]  # (batch, rng) -> an input
    input: str
    output: str


ZOO = {
    "resnet50": {
        "full": Model(lambda: ResNet(Bottleneck, [3, 4, 6, 3]), images(224),
                      "image", "logits"),
        "tiny": Model(TinyResNet, images(64), "image", "logits"),
    },
    "vit-b16": {
        "full": Model(lambda: VisionTransformer(224, 16, 12, 12, 768, 3072),
                      images(224), "image", "logits"),
        "tiny": Model(lambda: VisionTransformer(32, 8, 2, 2, 32, 64,
                                                num_classes=10),
                      images(32), "image", "logits"),
    },
    "gpt3-small": {
        "full": Model(lambda: Gpt(12, 768, 12, 50304, 1024),
                      tokens(1024, 50304), "ids", "logits"),
        "tiny": Model(lambda: Gpt(2, 32, 2, 96, 24), tokens(24, 96),
                      "ids", "logits"),
    },
    "bert-large": {
        "full": Model(lambda: Bert(24, 1024, 16, 30522, 512),
                      tokens(384, 30522), "ids", "hidden"),
        "tiny": Model(lambda: Bert(2, 32, 2, 96, 24), tokens(20, 96),
                      "ids", "hidden"),
    },
}


def randomize(module: nn.Module, rng: torch.Generator) -> None:
    """Draws every parameter so that signals keep their size from layer to
    layer, attention is not uniform, and no scale or shift is trivial. The
    blocks of a ResNet add little to what passes them by, as trained ones do:
    otherwise fifty random layers turn the rounding of fp16 weights into 2% of
    the answer."""
    for part in module.modules():
        for name, value in part.named_parameters(recurse=False):
            if isinstance(part, nn.Embedding):
                nn.init.normal_(value, std=0.02, generator=rng)
            elif "weight" in name and value.dim() > 1:
                fan_in = value[0].numel()
                nn.init.normal_(value, std=fan_in**-0.5, generator=rng)
            elif "weight" in name:
                nn.init.uniform_(value, 0.5, 1.5, generator=rng)
            else:
                nn.init.normal_(value, std=0.1, generator=rng)
    for part in module.modules():
        if isinstance(part, Bottleneck):
            part.bn3.weight.mul_(0.2)


@torch.no_grad()
def make(model: Model, device: str = "cpu", seed: int = 0) -> nn.Module:
    """The model in evaluation mode. Batch norms hold the statistics of a few
    random batches: with untouched ones activations leave the range of fp16."""
    rng = torch.Generator().manual_seed(seed)
    module = model.build()
    randomize(module, rng)
    module.to(device)
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = None  # average over all batches
        module.train()
        for _ in range(4):
            module(model.draw(16, rng).to(device))
    return module.eval()


def draw(model: Model, batch: int, seed: int = 1) -> Tensor:
    return model.draw(batch, torch.Generator().manual_seed(seed))


# Dimensions of inputs and outputs that may be left open.
OPEN = {"batch": 0, "seq": 1}


def export(model: Model, module: nn.Module, exporter: str, path: Path,
           batch: int = 1, dynamic: str = "", **options) -> None:
    """Writes `path`. `dynamic` names a dimension that is left open. Not under
    no_grad, where attention takes a path that cannot be exported."""
    # An example batch of one would be taken for a constant.
    example = draw(model, max(batch, 2) if dynamic == "batch" else batch)
    example = example.to(next(module.parameters()).device)
    names = dict(input_names=[model.input], output_names=[model.output])
    if exporter == "dynamo":
        shapes = (({OPEN[dynamic]: torch.export.Dim(dynamic)},)
                  if dynamic else None)
        torch.onnx.export(module, (example,), path, dynamo=True,
                          dynamic_shapes=shapes, verbose=False, **names,
                          **options)
    else:
        axes = ({name: {OPEN[dynamic]: dynamic}
                 for name in (model.input, model.output)} if dynamic else None)
        torch.onnx.export(module, (example,), path, dynamo=False,
                          dynamic_axes=axes, **names, **options)


@torch.no_grad()
def reference(model: Model, module: nn.Module, stem: Path,
              batch: int = 1) -> None:
    """Writes an input and PyTorch's float32 answer beside the model."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    x = draw(model, batch)
    y = module(x.to(next(module.parameters()).device)).cpu()
    np.save(f"{stem}.{model.input}.npy", x.numpy())
    np.savez(f"{stem}.npz", **{model.output: y.numpy()})


def shorten(path: Path) -> None:
    """Drops the traces of Python source that PyTorch's newer exporter leaves:
    they are half of a small file and name folders of the machine."""
    proto = onnx.load(path, load_external_data=False)
    graph = proto.graph
    for item in (proto, graph, *graph.node, *graph.input, *graph.output,
                 *graph.value_info, *graph.initializer):
        item.ClearField("metadata_props")
        item.ClearField("doc_string")
    onnx.save(proto, path)


# What the tree keeps beside the models at PyTorch's defaults: older and newer
# opsets, batch norms left alone, shape arithmetic left in, weights in a file.
PRESERVE = torch.onnx.TrainingMode.PRESERVE
VARIANTS = {
    "resnet50": {
        "torchscript-opset7": dict(opset_version=7, training=PRESERVE),
        "dynamo-raw": dict(optimize=False),
        "dynamo-external": dict(external_data=True),
    },
    "vit-b16": {"torchscript-opset14": dict(opset_version=14)},
    "gpt3-small": {"dynamo-opset23": dict(opset_version=23)},
    "bert-large": {"torchscript-opset14": dict(opset_version=14),
                   "dynamo-opset18": dict(opset_version=18)},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=("tiny", "full"), default="tiny")
    parser.add_argument("--only", default="", help="regex of model names")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    for name, sizes in ZOO.items():
        if not re.search(args.only, name):
            continue
        model = sizes[args.size]
        module = make(model)
        reference(model, module, args.out / name, args.batch)
        for exporter, dynamic in itertools.product(EXPORTERS, ("", "batch")):
            path = args.out / (f"{name}-{exporter}"
                               + "-dynamic" * bool(dynamic) + ".onnx")
            inside = dict(external_data=False) if args.size == "tiny" else {}
            export(model, module, exporter, path, args.batch, dynamic, **inside)
            if args.size == "tiny":
                shorten(path)
        if args.size == "full":
            continue
        for variant, options in VARIANTS[name].items():
            path = args.out / f"{name}-{variant}.onnx"
            export(model, module, variant.split("-")[0], path, args.batch,
                   **dict(external_data=False) | options)
            shorten(path)


if __name__ == "__main__":
    main()
