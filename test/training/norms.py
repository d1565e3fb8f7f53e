"""Writes a network with layer norms, over enough rows that the gradients of
their scales and biases are summed in parts, and a file for --train.

    norms.py FOLDER
"""
import sys
from pathlib import Path

import classifier
import numpy as np
from onnx import helper

folder = Path(sys.argv[1])
rows, width, classes = 3200, 256, 6
random = np.random.default_rng(0)
nodes = [helper.make_node("MatMul", ["x", "w1"], ["p"], "in"),
         helper.make_node("Add", ["p", "b1"], ["h"], "bias"),
         helper.make_node("LayerNormalization", ["h", "g1", "c1"], ["n"],
                          "norm1", axis=-1),
         helper.make_node("Tanh", ["n"], ["t"], "squash"),
         helper.make_node("Add", ["t", "h"], ["s"], "residual"),
         helper.make_node("LayerNormalization", ["s", "g2", "c2"], ["m"],
                          "norm2", axis=-1),
         helper.make_node("MatMul", ["m", "w2"], ["y"], "out")]
weights = {name: random.standard_normal(shape) / shape[-1] ** 0.5 for name, shape in {
    "w1": (width, width), "b1": (width,), "g1": (width,), "c1": (width,), "g2": (width,),
    "c2": (width,), "w2": (width, classes)}.items()}
classifier.write(folder, "norms", nodes, [(rows, width), (rows, classes)], weights, 1)
