#!/usr/bin/env python3
"""The real models that frit is tested on, as PyTorch exports them.

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

from nets import Bert, Gpt, Llama, TinyResNet

EXPORTERS = ("dynamo", "torchscript")


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


def padded_tokens(
        length: int, vocab: int) -> Callable[[int, torch.Generator], Tensor]:
    """Every other sequence ends with padding."""

    def draw(batch: int, rng: torch.Generator) -> Tensor:
        ids = torch.randint(1, vocab, (batch, length), generator=rng)
        ids[1::2, -(length // 8):] = 0
        return ids

    return draw


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
    "llama-1b": {
        "full": Model(lambda: Llama(22, 2048, 32, 4, 5632, 32000),
                      padded_tokens(1024, 32000), "ids", "logits"),
        "tiny": Model(lambda: Llama(2, 32, 2, 1, 64, 96),
                      padded_tokens(24, 96), "ids", "logits"),
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


# Dimensions of inputs and outputs that may be symbolic.
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


# Variants in the tree besides PyTorch's defaults: older and newer opsets, unfolded batch norms,
# shape arithmetic, external weights.
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
        for variant, options in VARIANTS.get(name, {}).items():
            path = args.out / f"{name}-{variant}.onnx"
            export(model, module, variant.split("-")[0], path, args.batch,
                   **dict(external_data=False) | options)
            shorten(path)


if __name__ == "__main__":
    main()
