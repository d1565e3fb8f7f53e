"""Writes a convolution with a batch norm, whose statistics the kernel of the
convolution takes in parts, and its train.json.

    batch_statistics.py FOLDER
"""
import sys
from pathlib import Path

import classifier
import numpy as np
from onnx import helper

folder = Path(sys.argv[1])
rng = np.random.default_rng(1)
weights = {
    "conv.weight": rng.standard_normal((32, 8, 1, 1)) / 3,
    "norm.weight": rng.uniform(0.5, 1.5, 32),
    "norm.bias": rng.standard_normal(32),
    "norm.running_mean": np.zeros(32), "norm.running_var": np.ones(32),
    "fc.weight": rng.standard_normal((6, 32)) / 6, "fc.bias": np.zeros(6)}
node = helper.make_node
nodes = [node("Conv", ["x", "conv.weight"], ["a"], "conv"),
         node("BatchNormalization", ["a", *list(weights)[1:5]],
              ["b", "mean", "var"], "norm", training_mode=1),
         node("Relu", ["b"], ["c"], "relu"),
         node("GlobalAveragePool", ["c"], ["d"], "pool"),
         node("Flatten", ["d"], ["e"], "flat"),
         node("Gemm", ["e", "fc.weight", "fc.bias"], ["y"], "fc", transB=1)]
classifier.write(folder, "statistics", nodes, [(8, 8, 32, 32), (8, 6)], weights, 0.1)
