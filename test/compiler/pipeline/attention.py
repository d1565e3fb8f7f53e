"""Tests that attention is recognized as model libraries write it.

    attention.py WORK

Each case is a block with a padding mask. Compiled for a GPU, it
must be one kernel between two products without data movement. Compiled for the
CPU, its results are compared with ONNX's reference implementation.
"""
import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from commands import run

BATCH, LENGTH, WIDTH, HEADS = 2, 24, 64, 4
SIZE = WIDTH // HEADS
LOWEST = np.float32(np.finfo(np.float32).min)


class Graph:
    """Nodes of one output, one after the other."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.rng = np.random.default_rng(0)

    def const(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def number(self, value):
        return self.const(np.float32(value))

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def weight(self, *shape):
        values = self.rng.standard_normal(shape) / np.sqrt(WIDTH)
        return self.const(values.astype(np.float32))

    def linear(self, x, bias=True, width=WIDTH):
        y = self.op("MatMul", x, self.weight(WIDTH, width))
        return self.op("Add", self.weight(width), y) if bias else y

    def heads(self, x, perm=(0, 2, 1, 3), heads=HEADS):
        x = self.op("Reshape", x, self.ints(BATCH, LENGTH, heads, SIZE))
        return self.op("Transpose", x, perm=perm)

    def padding(self):
        """The mask: 0 for visible keys, otherwise the lowest number."""
        mask = self.op("Cast", "mask", to=TensorProto.FLOAT)
        mask = self.op("Unsqueeze", mask, self.ints(1, 2))
        return self.op("Mul", self.op("Sub", self.number(1), mask),
                       self.const(LOWEST))


def divided_scores(g):
    """Keys transposed at once, scores divided: BERT."""
    q, v = g.heads(g.linear("x")), g.heads(g.linear("x"))
    k = g.heads(g.linear("x"), (0, 2, 3, 1))
    scores = g.op("Div", g.op("MatMul", q, k), g.number(SIZE**0.5))
    scores = g.op("Add", scores, g.padding())
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def split_scale(g):
    """The root of the scale on both sides: PyTorch's export of its operator."""
    q, k, v = (g.heads(g.linear("x")) for _ in range(3))
    root = g.number(SIZE**-0.25)
    k = g.op("Mul", g.op("Transpose", k, perm=(0, 1, 3, 2)), root)
    scores = g.op("MatMul", g.op("Mul", q, root), k)
    mask = g.op("Expand", g.padding(), g.ints(BATCH, 1, LENGTH, LENGTH))
    scores = g.op("Add", scores, mask)
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def sliced_triangle(g):
    """A packed projection and a slice of a stored triangle: GPT-2."""
    x = g.op("Reshape", "x", g.ints(BATCH * LENGTH, WIDTH))
    packed = g.op("Gemm", x, g.weight(WIDTH, 3 * WIDTH), g.weight(3 * WIDTH))
    packed = g.op("Reshape", packed, g.ints(BATCH, LENGTH, 3 * WIDTH))
    parts = ["q", "k", "v"]
    g.nodes.append(helper.make_node(
        "Split", [packed, g.ints(WIDTH, WIDTH, WIDTH)], parts, axis=2))
    q, k, v = g.heads("q"), g.heads("k", (0, 2, 3, 1)), g.heads("v")
    scores = g.op("Div", g.op("MatMul", q, k), g.number(SIZE**0.5))
    triangle = g.const(np.tri(64, dtype=bool).reshape(1, 1, 64, 64))
    seen = g.op("Slice", triangle, g.ints(0, 0), g.ints(LENGTH, LENGTH),
                g.ints(2, 3))
    scores = g.op("Where", seen, scores, g.const(LOWEST))
    scores = g.op("Add", scores, g.padding())
    return g.op("MatMul", g.op("Softmax", scores, axis=3), v)


def merged_heads(g):
    """Batch and heads as one dimension, keys without a bias: BART."""
    q = g.op("Mul", g.linear("x"), g.number(SIZE**-0.5))
    q, k, v = (g.op("Reshape", g.heads(x), g.ints(BATCH * HEADS, LENGTH, SIZE))
               for x in (q, g.linear("x", bias=False), g.linear("x")))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=(0, 2, 1)))
    apart = g.ints(BATCH, HEADS, LENGTH, LENGTH)
    scores = g.op("Add", g.op("Reshape", scores, apart), g.padding())
    scores = g.op("Reshape", scores, g.ints(BATCH * HEADS, LENGTH, LENGTH))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    return g.op("Reshape", y, g.ints(BATCH, HEADS, LENGTH, SIZE))


def shared_heads(g):
    """Two heads of keys and values for four of queries: LLaMA."""
    groups = HEADS // 2

    def repeated():
        x = g.heads(g.linear("x", False, groups * SIZE), heads=groups)
        x = g.op("Expand", g.op("Unsqueeze", x, g.ints(2)),
                 g.ints(BATCH, groups, 2, LENGTH, SIZE))
        return g.op("Reshape", x, g.ints(BATCH, HEADS, LENGTH, SIZE))

    q, k, v = g.heads(g.linear("x")), repeated(), repeated()
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=(0, 1, 3, 2)))
    scores = g.op("Mul", scores, g.number(SIZE**-0.5))
    future = np.triu(np.full((LENGTH, LENGTH), -np.inf, np.float32), 1)
    scores = g.op("Add", scores, g.const(future))
    scores = g.op("Add", scores, g.padding())
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def model(case):
    g = Graph()
    y = g.op("Transpose", case(g), perm=(0, 2, 1, 3))
    y = g.op("Reshape", y, g.ints(BATCH, LENGTH, WIDTH))
    g.op("Add", g.linear(y), "x")
    g.nodes[-1].output[0] = "y"
    shape = [BATCH, LENGTH, WIDTH]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes, case.__name__,
        [value("x", TensorProto.FLOAT, shape),
         value("mask", TensorProto.INT64, shape[:2])],
        [value("y", TensorProto.FLOAT, shape)], g.weights)
    result = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 14)])
    result.ir_version = 8
    return result


def main(work):
    work.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    mask = np.ones((BATCH, LENGTH), np.int64)
    mask[1, 15:] = 0
    inputs = {"x": rng.standard_normal((BATCH, LENGTH, WIDTH), np.float32),
              "mask": mask}
    for name, value in inputs.items():
        np.save(work / f"{name}.npy", value)
    for case in (divided_scores, split_scale, sliced_triangle, merged_heads,
                 shared_heads):
        stem = work / case.__name__
        proto = model(case)
        onnx.save(proto, f"{stem}.onnx")
        (y,) = ReferenceEvaluator(proto).run(None, inputs)
        np.savez(f"{stem}.npz", y=y)

        fused = run("fritc", f"{stem}.onnx", "-march=sm_90a",
                    "-fprecision=fp16", "-Rpass-missed=fusion", "--emit=fused",
                    "-o", "-")
        body = fused.stdout.split("func.func @prepare")[0]
        products, whole = (len(re.findall(f"= nn.{op} ", body))
                           for op in ("matmul", "attention"))
        copies = fused.stderr.count("only moves elements")
        print(f"{case.__name__}: {products} products, {whole} attention, "
              f"{copies} copies")

        run("fritc", f"{stem}.onnx", "-march=x86-64-v3", "-o", f"{stem}.so")
        run("frit-run", f"{stem}.so", "--device=cpu",
            *(f"--input={name}=@{work / name}.npy" for name in inputs),
            f"--compare={stem}.npz", "--l2=1e-5")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
