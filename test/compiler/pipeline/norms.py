"""Layer norms between products, folded into these.

    norms.py WORK

Blocks that normalize before and after, compiled for a GPU, where no kernel may
be left that only normalizes, and run on the host by the emulator and by the
CPU target, which computes norms unfolded. Means are far from zero; rows
have odd numbers and sizes, so that tiles have tails.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EMULATE = Path(__file__).resolve().parents[2] / "emulator" / "model.sh"
WIDTH = 256


class Graph:
    """Nodes of a model, one after the other."""

    def __init__(self, *shape):
        self.shape, self.nodes, self.weights, self.outputs = shape, [], [], []
        self.rng = np.random.default_rng(0)

    def const(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def vector(self, size, around=0.0):
        values = around + 0.3 * self.rng.standard_normal(size)
        return self.const(values.astype(np.float32))

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def product(self, x, inner, width, bias=None):
        weight = self.rng.standard_normal((inner, width)) / np.sqrt(inner)
        y = self.op("MatMul", x, self.const(weight.astype(np.float32)))
        return y if bias is None else self.op("Add", y,
                                              self.vector(width, bias))

    def norm(self, x, bias=True):
        vectors = [self.vector(WIDTH, 1.0)] + [self.vector(WIDTH)] * bias
        return self.op("LayerNormalization", x, *vectors, epsilon=1e-5)

    def save(self, path):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                   for name in self.outputs]
        graph = helper.make_graph(self.nodes, "norms", [x], outputs,
                                  self.weights)
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)])
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def after():
    """A norm behind each half, read by products and the next half: BERT."""
    g = Graph(3, 37, WIDTH)
    n = g.norm(g.product("x", WIDTH, WIDTH, 2.0))
    up = g.op("Gelu", g.product(n, WIDTH, 512, 0.0))
    n2 = g.norm(g.op("Add", g.product(up, 512, WIDTH, -3.0), n))
    g.outputs = [g.product(n, WIDTH, 320, 0.0), g.product(n2, WIDTH, 192)]
    return g


def before():
    """A norm before each half, of a sum that goes on past it: GPT, ViT."""
    g = Graph(1, 67, WIDTH)
    flat = g.op("Reshape", "x", g.const(np.array([67, WIDTH])))
    h = g.op("Reshape", g.product(flat, WIDTH, WIDTH, 1.0),
             g.const(np.array([1, 67, WIDTH])))
    h = g.op("Add", "x", h)
    up = g.op("Relu", g.product(g.norm(h, bias=False), WIDTH, 512, 0.0))
    h = g.op("Add", h, g.product(up, 512, WIDTH, 0.5))
    n = g.op("Reshape", g.norm(h), g.const(np.array([67, 1, WIDTH])))
    g.outputs = [g.product(n, WIDTH, 448)]
    return g


def many():
    """So many rows that a separate kernel merges their moments."""
    g = Graph(1, 2051, WIDTH)
    g.outputs = [g.product(g.norm(g.product("x", WIDTH, WIDTH, 2.0)), WIDTH,
                           64, 0.0)]
    return g


def main():
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    tools = Path(shutil.which("fritc")).parent
    for case in (after, before, many):
        model = work / f"{case.__name__}.onnx"
        case().save(model)
        fused = subprocess.run(
            ["fritc", model, "-march=sm_90a", "-fprecision=fp16",
             "--emit=fused", "-o", "-"],
            check=True, capture_output=True, text=True).stdout
        fused = fused[:fused.index("@prepare")]
        counts = {name: len(re.findall(rf"= nn\.{name} ", fused))
                  for name in ("matmul", "moments", "merge_moments",
                               "normalize_product", "normalize", "reduce")}
        print(f"{case.__name__}:", ", ".join(f"{n} {name}" for name, n
                                             in counts.items()))
        for precision, tolerance in (("fp16", 4e-3), ("bf16", 4e-2)):
            run = subprocess.run(
                [EMULATE, tools, sys.executable, model, str(tolerance),
                 f"-fprecision={precision}"], capture_output=True, text=True)
            print(f"  {precision}:", "agrees" if run.returncode == 0
                  else run.stdout + run.stderr)


main()
