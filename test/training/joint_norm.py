"""Writes a pointwise convolution to many channels with a batch norm, which share
a gradient, and its train.json.

    joint_norm.py FOLDER
"""
import sys
from pathlib import Path

import classifier
import numpy as np
from onnx import helper

folder = Path(sys.argv[1])
rng = np.random.default_rng(1)
inner, channels = 8, 1280
weights = {
    "stem.weight": rng.standard_normal((inner, 4, 1, 1)) / 2,
    "stem.bias": rng.standard_normal(inner),
    "conv.weight": rng.standard_normal((channels, inner, 1, 1)) / 3,
    "norm.weight": rng.uniform(0.5, 1.5, channels),
    "norm.bias": rng.standard_normal(channels),
    "norm.running_mean": np.zeros(channels), "norm.running_var": np.ones(channels),
    "fc.weight": rng.standard_normal((6, channels)) / 40, "fc.bias": np.zeros(6)}
node = helper.make_node
nodes = [node("Conv", ["x", "stem.weight", "stem.bias"], ["s"], "stem"),
         node("Relu", ["s"], ["z"], "start"),
         node("Conv", ["z", "conv.weight"], ["a"], "conv"),
         node("BatchNormalization", ["a", *list(weights)[3:7]],
              ["b", "mean", "var"], "norm", training_mode=1),
         node("Relu", ["b"], ["c"], "relu"),
         node("GlobalAveragePool", ["c"], ["d"], "pool"),
         node("Flatten", ["d"], ["e"], "flat"),
         node("Gemm", ["e", "fc.weight", "fc.bias"], ["y"], "fc", transB=1)]
classifier.write(folder, "joint", nodes, [(8, 4, 32, 32), (8, 6)], weights, 0.1)
