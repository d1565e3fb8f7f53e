#!/usr/bin/env python3
"""Compares torchvision's detectors with ONNX Runtime.

    detectors.py --out DIR [--only REGEX] [--size 320] [--bin build/dev/bin]
                 [--march x86-64-v3] [--device cpu|cuda]

needs torch, torchvision and onnx (any environment). Without onnxruntime the
results are compared with PyTorch's own. Weights are made up so that tens to
hundreds of boxes are found in a picture of shapes. A line says how many of the
expected boxes were found: one counts if a box of the same class has its corners
to a tenth of a pixel, its score to 1e-3 and its mask to 1e-2 on average, in any
position, because boxes with nearly equal scores may swap. Exit status 1: a
model was rejected or misses more than one box in fifty.

No more than 32,768 candidates are compared: -fbound leaves room for fewer where
1,000 proposals and 90 classes may have more.
"""
import argparse
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn
from torchvision.models import detection

# The model, the flags it wants, and the deviation and the mean that what its
# heads say is scaled to: scores, and where boxes are.
DETECTORS = {
    "retinanet_resnet50_fpn": ("", [("classification_head", 1.3, -8.6),
                                    ("regression_head", 0.3, 0)]),
    "fcos_resnet50_fpn": ("", [("classification_head", 1.3, -7.2),
                               ("regression_head", 1.0, 1)]),
    "ssdlite320_mobilenet_v3_large": ("", [("classification_head", 2.2, 0),
                                           ("regression_head", 0.5, 0)]),
    "fasterrcnn_mobilenet_v3_large_320_fpn": (
        "", [("rpn.head.cls_logits", 1.5, 0), ("rpn.head.bbox_pred", 0.3, 0),
             ("cls_score", 2.2, 0), ("box_predictor.bbox_pred", 0.7, 0)]),
    "fasterrcnn_resnet50_fpn": (
        "-fbound=/roi_heads/NonZero:8192",
        [("rpn.head.cls_logits", 1.5, 0), ("rpn.head.bbox_pred", 0.3, 0),
         ("cls_score", 2.2, 0), ("box_predictor.bbox_pred", 0.7, 0)]),
    "maskrcnn_resnet50_fpn": (
        "-fbound=/roi_heads/NonZero:8192",
        [("rpn.head.cls_logits", 1.5, 0), ("rpn.head.bbox_pred", 0.3, 0),
         ("cls_score", 2.2, 0), ("box_predictor.bbox_pred", 0.7, 0),
         ("mask_fcn_logits", 2.0, 0)]),
}


def picture(size: int) -> Tensor:
    """A picture of striped rectangles on a wavy background."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
    rng = np.random.default_rng(1)
    image = np.stack([0.3 + 0.2 * np.sin(9 * x + 2 * y),
                      0.4 + 0.2 * np.cos(21 * x * y), 0.5 * x + 0.2 * y])
    for _ in range(14):
        left, top, *sides = rng.random(4)
        width, height = 0.05 + 0.25 * np.array(sides)
        inside = (abs(x - left) < width / 2) & (abs(y - top) < height / 2)
        image[:, inside] = rng.random((3, 1)) + 0.1 * np.sin(40 * x[inside])
    return torch.from_numpy(np.clip(image, 0, 1).astype(np.float32))


@torch.no_grad()
def calibrate(model: nn.Module, image: Tensor) -> None:
    """Sets the norms' statistics from the picture, layer by layer."""
    def measure(norm: nn.Module, inputs: tuple[Tensor]) -> None:
        norm.running_mean.copy_(inputs[0].mean((0, 2, 3)))
        norm.running_var.copy_(inputs[0].var((0, 2, 3), correction=0) + 1e-3)

    hooks = [part.register_forward_pre_hook(measure)
             for part in model.modules() if hasattr(part, "running_var")]
    model([image])
    for hook in hooks:
        hook.remove()


@torch.no_grad()
def scale(model: nn.Module, image: Tensor, name: str, deviation: float,
          mean: float) -> None:
    """Scales the last layers of a head, or the one layer of that name."""
    layers = [part for path, part in model.named_modules()
              if name in path and isinstance(part, (nn.Conv2d, nn.Linear))
              and part.bias is not None
              and ("_head" not in name or part.out_channels % 64)]
    outputs = []
    hooks = [layer.register_forward_hook(
        lambda *call: outputs.append(call[2].flatten())) for layer in layers]
    for layer in layers:
        layer.weight.normal_()
        layer.bias.zero_()
    model([image])
    for hook in hooks:
        hook.remove()
    for layer in layers:
        layer.weight.mul_(deviation / torch.cat(outputs).std())
        layer.bias.fill_(mean)


def write(name: str, size: int, path: Path) -> None:
    """The model, its picture and what is found in it, beside `path`."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = {} if name.startswith("ssd") else dict(min_size=size, max_size=size)
    model = detection.__dict__[name](weights=None, weights_backbone=None,
                                     **sizes).eval().to(device)
    image = picture(size).to(device)
    calibrate(model, image)
    for head in DETECTORS[name][1]:
        scale(model, image, *head)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, ([image],), path, dynamo=False,
                          opset_version=17)
    graph = onnx.load(path, load_external_data=False).graph
    inputs = {graph.input[0].name: image.cpu().numpy()}
    try:
        import onnxruntime
        found = onnxruntime.InferenceSession(path).run(None, inputs)
    except ImportError:
        with torch.no_grad():
            found = [x.cpu().numpy() for x in model([image])[0].values()]
    np.savez(path.with_suffix(".in.npz"), **inputs)
    np.savez(path.with_suffix(".out.npz"), **dict(
        zip((output.name for output in graph.output), found)))


def detections(path: Path) -> tuple[np.ndarray, ...]:
    """Boxes, scores, classes and masks, whatever their names."""
    with np.load(path) as file:
        arrays = list(file.values())
    (boxes,) = (a for a in arrays if a.ndim == 2)
    (scores,) = (a for a in arrays if a.ndim == 1 and a.dtype.kind == "f")
    (labels,) = (a for a in arrays if a.dtype.kind == "i")
    masks = [a for a in arrays if a.ndim == 4]
    return boxes, scores, labels, masks[0] if masks else np.zeros(len(boxes))


def missed(expected: Path, found: Path) -> tuple[int, int]:
    """Returns the number of boxes, and of those that were not found."""
    others = detections(found)
    taken = np.zeros(len(others[0]), bool)
    misses = 0
    for box, score, label, mask in zip(*detections(expected)):
        fits = (~taken & (others[2] == label) &
                (abs(others[1] - score) < 1e-3) &
                (abs(others[0] - box).max(1, initial=0) < 0.1))
        place = next((i for i in np.flatnonzero(fits)
                      if abs(others[3][i] - mask).mean() < 1e-2), None)
        if place is None:
            misses += 1
        else:
            taken[place] = True
    return len(detections(expected)[0]), misses


def survey(name: str, args: argparse.Namespace) -> tuple[str, bool]:
    """Tests a detector; returns a report and whether it passed."""
    path = args.out / f"{name}.onnx"
    if not path.with_suffix(".out.npz").exists():
        write(name, args.size, path)
    library, result = path.with_suffix(".so"), path.with_suffix(".frit.npz")
    times = []
    for command in (
            [args.bin / "fritc", f"-march={args.march}",
             *DETECTORS[name][0].split(), path, "-o", library],
            [args.bin / "frit-run", library, f"--device={args.device}",
             f"--input=@{path.with_suffix('.in.npz')}",
             f"--output=@{result}"]):
        start = time.time()
        done = subprocess.run([str(c) for c in command], capture_output=True,
                              text=True)
        times.append(f"{time.time() - start:.1f}")
        if done.returncode:
            return done.stderr.splitlines()[0], False
    count, misses = missed(path.with_suffix(".out.npz"), result)
    return (f"{count} boxes, {misses} not found, {' + '.join(times)} s",
            count > 0 and misses * 50 <= count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--bin", type=Path, default=Path("build/dev/bin"))
    parser.add_argument("--march", default="x86-64-v3")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    good = True
    for name in DETECTORS:
        if re.search(args.only, name):
            line, right = survey(name, args)
            good &= right
            print(f"{name:40} {line}", flush=True)
    sys.exit(not good)


if __name__ == "__main__":
    main()
