"""Compares what a step makes of bytes with NumPy: augment.py FOLDER

The model's outputs are products of each image of the batch with a random one, so
that they tell all its pixels. In training they must be those of a crop that is
possible, in evaluation those of the crop at the center, as torchvision's
RandomCrop, RandomHorizontalFlip, CenterCrop, ToTensor and Normalize make them.
"""
import collections
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

FOLDER, BATCH = Path(sys.argv[1]), 3
random = np.random.default_rng(0)


def make(channels, rows, columns):
    """`y0`, `y1` … of the images, and a loss that trains `w`."""
    projection = random.normal(0, 1, (channels * rows * columns, 1)).astype(np.float32)
    info, node = helper.make_tensor_value_info, helper.make_node
    nodes = [node("Flatten", ["image"], ["flat"]), node("MatMul", ["flat", "projection"], ["y"]),
             node("Reshape", ["y", "all"], ["row"]), node("Split", ["row"], [f"r{i}" for i in range(BATCH)], num_outputs=BATCH),
             *(node("Reshape", [f"r{i}", "none"], [f"y{i}"]) for i in range(BATCH)),
             node("Mul", ["row", "w"], ["product"]), node("ReduceMean", ["product"], ["loss"], keepdims=0)]
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "images", [info("image", TensorProto.FLOAT, (BATCH, channels, rows, columns))],
        [info(name, TensorProto.FLOAT, ()) for name in ["loss", *(f"y{i}" for i in range(BATCH))]],
        [numpy_helper.from_array(projection, "projection"), numpy_helper.from_array(np.int64([BATCH]), "all"),
         numpy_helper.from_array(np.zeros(0, np.int64), "none"), numpy_helper.from_array(np.ones(1, np.float32), "w")]),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=8), FOLDER / "images.onnx")
    return projection


def compiled(config, march="x86-64-v3", *flags):
    (FOLDER / "train.json").write_text(json.dumps(
        {"loss": {"kind": "output", "output": "loss"}, "optimizer": {"kind": "sgd", "learning_rate": 0},
         "train": ["w"], "augment": [{"input": "image", **config}]}))
    subprocess.run(["fritc", "images.onnx", "--train=train.json", f"-march={march}", "-o", "step.so", *flags], cwd=FOLDER, check=True)
    return Step(FOLDER / "step.so")


def follow(name, shape, config, calls=200):
    channels, rows, columns = shape
    projection = make(*shape).astype(np.float64)
    height, width = config.get("height", rows), config.get("width", columns)
    padding, flip = config.get("padding", 0), config.get("flip", 0)
    mean = np.array(config.get("mean", [0] * channels)), np.array(config.get("std", [1] * channels))
    images = random.integers(0, 256, (BATCH, height, width, channels), dtype=np.uint8)

    def value(image, top, left, mirrored):
        crop = image[top:top + rows, left:left + columns]
        crop = (crop[:, ::-1] if mirrored else crop) / 255
        return (((crop - mean[0]) / mean[1]).transpose(2, 0, 1).reshape(1, -1) @ projection).item()

    padded = np.pad(images, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    tops, lefts = height + 2 * padding - rows + 1, width + 2 * padding - columns + 1
    choices = [(t, x, m) for t in range(tops) for x in range(lefts) for m in ([False, True] if flip else [False])]
    values = np.array([[value(image, *c) for c in choices] for image in padded])
    step = compiled(config)
    found = step.evaluate(image=images)
    center = round((height - rows) / 2), round((width - columns) / 2)
    np.testing.assert_allclose([found[f"y{i}"] for i in range(BATCH)],
                               [value(image, *center, False) for image in images], rtol=1e-4, atol=1e-4)
    drawn = []
    for _ in range(calls):
        got = step.train(image=images)
        for i in range(BATCH):
            apart = abs(values[i] - got[f"y{i}"])
            assert apart.min() < 1e-4, (name, i, apart.min())
            drawn.append((i, choices[apart.argmin()]))
    step.close()
    # Each row, column and mirror comes about as often as it should, and images of a batch differ.
    for kind, (count, weights) in enumerate([(tops, None), (lefts, None), (2, [1 - flip, flip])]):
        seen = collections.Counter(int(c[kind]) for _, c in drawn)
        for n in range(count):
            share = weights[n] if weights else 1 / count
            spread = 5 * np.sqrt(len(drawn) * share * (1 - share))
            assert abs(seen[n] - len(drawn) * share) <= spread, (name, kind, seen)
    if len(choices) > 2:
        batches = [tuple(c for _, c in drawn[i:i + BATCH]) for i in range(0, len(drawn), BATCH)]
        assert sum(len(set(b)) == BATCH for b in batches) > len(batches) / 2
    print(f"{name}: every image is one of {len(choices)} crops")


follow("plain", (3, 4, 6), {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, 5)
follow("crop", (3, 4, 6), {"height": 8, "width": 8, "flip": 0.25, "std": [0.5, 0.25, 2]}, 400)
follow("pad", (3, 5, 5), {"padding": 4, "flip": 0.5, "mean": [0.5, 0.4, 0.3]}, 600)
follow("gray", (1, 6, 3), {"flip": 1e-9 + 0.5})
# The same draws with 16 bits, and none in evaluation.
projection = make(3, 8, 8)
images = random.integers(0, 256, (BATCH, 10, 10, 3), dtype=np.uint8)
results = []
for flags in (), ("-fprecision=amp-bf16",), ("-fdata-parallel",):
    step = compiled({"height": 10, "width": 10, "flip": 0.5}, "x86-64-v3", *flags)
    results.append([step.train(image=images)[f"y{i}"] for _ in range(4) for i in range(BATCH)])
    step.close()
np.testing.assert_allclose(results[1], results[0], rtol=0.05, atol=0.15)
np.testing.assert_allclose(results[2], results[0], rtol=1e-4, atol=1e-4)
print("halves, and ranks of another number: alike")
