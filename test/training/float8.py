"""Trains small language models of random weights with amp-fp8 beside amp-bf16,
on the CPU target: the losses of every ten steps must be within 1 % of each other.

    float8.py FOLDER [--steps N] [--only NAME] [--flags "-ffp8-gradients=e4m3"]

Writes gpt.onnx, whose weights are inputs × outputs, llama.onnx, whose weights
are outputs × inputs, odd.onnx, none of whose products gets 8 bits, train.json
and odd.json. The texts are those of a random chain of tokens, which a model
learns well below the entropy of its tokens.
"""
import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtime import Step

BATCH, LENGTH, WIDTH, HEADS, HIDDEN, VOCABULARY, LAYERS = 4, 32, 64, 2, 128, 64, 2


class Network:
    """An ONNX graph under construction."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def __call__(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def weight(self, name, *shape, scale=None):
        value = (np.ones(shape) if scale is None
                 else self.random.normal(0, scale, shape))
        return self.tensor(name, value.astype(np.float32))

    def tensor(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def write(self, path, output):
        self.nodes.append(helper.make_node("Identity", [output], ["logits"], "logits"))
        graph = helper.make_graph(
            self.nodes, path.stem,
            [helper.make_tensor_value_info("tokens", TensorProto.INT64, [BATCH, LENGTH])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                    ir_version=9), path)


def attention(net, layer, x, project):
    """Causal attention of all heads; `project` is a layer of weights."""
    def heads(part, order):
        y = project(f"{layer}.{part}", x, WIDTH, WIDTH)
        y = net("Reshape", y, net.tensor(f"{layer}.{part}.shape",
                                         np.array([BATCH, LENGTH, HEADS, WIDTH // HEADS])))
        return net("Transpose", y, perm=order)
    scores = net("MatMul", heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1]))
    scores = net("Mul", scores, net.tensor(f"{layer}.scale", np.float32((WIDTH // HEADS) ** -0.5)))
    mask = np.triu(np.full((LENGTH, LENGTH), -np.inf, np.float32), 1)
    scores = net("Add", scores, net.tensor(f"{layer}.mask", mask))
    y = net("MatMul", net("Softmax", scores, axis=-1), heads("v", [0, 2, 1, 3]))
    y = net("Transpose", y, perm=[0, 2, 1, 3])
    y = net("Reshape", y, net.tensor(f"{layer}.shape", np.array([BATCH, LENGTH, WIDTH])))
    return project(f"{layer}.o", y, WIDTH, WIDTH)


def gpt(path):
    net = Network(1)

    def project(name, x, inputs, outputs):
        y = net("MatMul", x, net.weight(f"{name}.weight", inputs, outputs, scale=inputs ** -0.5))
        return net("Add", y, net.weight(f"{name}.bias", outputs, scale=0.01))

    def norm(name, x):
        return net("LayerNormalization", x, net.weight(f"{name}.weight", WIDTH),
                   net.weight(f"{name}.bias", WIDTH, scale=0), axis=-1)
    x = net("Gather", net.weight("embedding", VOCABULARY, WIDTH, scale=0.5), "tokens")
    x = net("Add", x, net.weight("positions", LENGTH, WIDTH, scale=0.1))
    for i in range(LAYERS):
        x = net("Add", x, attention(net, f"{i}.attention", norm(f"{i}.norm1", x), project))
        y = net("Gelu", project(f"{i}.up", norm(f"{i}.norm2", x), WIDTH, HIDDEN))
        x = net("Add", x, project(f"{i}.down", y, HIDDEN, WIDTH))
    net.write(path, project("head", norm("norm", x), WIDTH, VOCABULARY))


def llama(path):
    net = Network(2)

    def project(name, x, inputs, outputs):
        w = net.weight(f"{name}.weight", outputs, inputs, scale=inputs ** -0.5)
        return net("MatMul", x, net("Transpose", w, perm=[1, 0]))

    def norm(name, x):
        squares = net("ReduceMean", net("Mul", x, x), net.tensor(f"{name}.axis", np.array([-1])))
        root = net("Sqrt", net("Add", squares, net.tensor(f"{name}.epsilon", np.float32(1e-5))))
        return net("Mul", net("Div", x, root), net.weight(f"{name}.weight", WIDTH))
    x = net("Gather", net.weight("embedding", VOCABULARY, WIDTH, scale=0.5), "tokens")
    for i in range(LAYERS):
        x = net("Add", x, attention(net, f"{i}.attention", norm(f"{i}.norm1", x), project))
        y = norm(f"{i}.norm2", x)
        gate = project(f"{i}.gate", y, WIDTH, HIDDEN)
        y = net("Mul", net("Mul", gate, net("Sigmoid", gate)), project(f"{i}.up", y, WIDTH, HIDDEN))
        x = net("Add", x, project(f"{i}.down", y, HIDDEN, WIDTH))
    net.write(path, project("head", norm("norm", x), WIDTH, VOCABULARY))


def odd(path):
    """Layers of which none has both sizes that tensor cores want between others."""
    sizes = (32, 64, 40, 64, 8)
    names = ("first", "narrowing", "widening", "last")
    nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"h{i}", name], ["y" if i == 3 else f"h{i + 1}"], name)
             for i, name in enumerate(names)]
    weights = [numpy_helper.from_array(np.ones((a, b), np.float32), name)
               for name, a, b in zip(names, sizes, sizes[1:])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "odd", [info("x", TensorProto.FLOAT, [16, 32])],
                              [info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def texts(steps):
    """Tokens and their successors, of a chain of which each token has four."""
    random = np.random.default_rng(3)
    successors = random.integers(0, VOCABULARY, (VOCABULARY, 4))
    for _ in range(steps):
        text = np.empty((BATCH, LENGTH + 1), np.int64)
        text[:, 0] = random.integers(0, VOCABULARY, BATCH)
        for i in range(LENGTH):
            text[:, i + 1] = successors[text[:, i], random.integers(0, 4, BATCH)]
        yield {"tokens": text[:, :-1].copy(), "labels": text[:, 1:].copy()}


def compile_step(folder, name, precision, *flags):
    artifact = folder / f"{name}-{precision}.so"
    subprocess.run(["fritc", folder / f"{name}.onnx", f"--train={folder / 'train.json'}",
                    f"-fprecision={precision}", "-march=x86-64-v3", "-Wno-target", *flags,
                    "-o", artifact], check=True)
    return artifact


def losses_of(artifact, steps):
    """The losses of steps, that of an evaluation after them, and the state."""
    step = Step(artifact)
    losses = [float(step.train(**text)["loss"]) for text in texts(steps)]
    evaluated = float(step.evaluate(**next(texts(1)))["loss"])
    state = step.read()
    step.close()
    return np.array(losses), evaluated, state


def go_on(artifact, state):
    """The loss of a step from a state, which is written as a checkpoint is."""
    step = Step(artifact)
    step.write(**state)
    loss = float(step.train(**next(texts(1)))["loss"])
    step.close()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", default="gpt,llama")
    parser.add_argument("--flags", default="")
    args = parser.parse_args()
    gpt(args.folder / "gpt.onnx")
    llama(args.folder / "llama.onnx")
    odd(args.folder / "odd.onnx")
    options = {"loss": {"kind": "cross_entropy"},
               "optimizer": {"kind": "adamw", "learning_rate": 3e-3, "weight_decay": 0.01}}
    (args.folder / "odd.json").write_text(json.dumps(options))
    (args.folder / "train.json").write_text(json.dumps(dict(options, freeze=["*.mask"])))
    for name in filter(None, args.only.split(",")):
        artifact = compile_step(args.folder, name, "amp-fp8", *args.flags.split())
        wide, wide_end, wide_state = losses_of(compile_step(args.folder, name, "amp-bf16"), args.steps)
        narrow, narrow_end, state = losses_of(artifact, args.steps)
        # It is another arithmetic, and the model learns. A step has 128 tokens.
        assert np.any(wide != narrow)
        assert narrow[-1] < 0.6 * narrow[0], narrow
        wide_means, means = (losses.reshape(-1, 10).mean(1) for losses in (wide, narrow))
        error = np.abs(means / wide_means - 1)
        assert error.max() <= 1e-2, (name, error.max(), narrow, wide)
        assert abs(narrow_end / wide_end - 1) <= 2e-2, (narrow_end, wide_end)
        # Both have the same state, and one goes on where the other was.
        assert state.keys() == wide_state.keys()
        assert all(state[key].dtype == wide_state[key].dtype for key in state)
        assert abs(go_on(artifact, wide_state) / wide_end - 1) <= 2e-2
        print(f"{name}: loss {narrow[0]:.3f} -> {narrow[-1]:.3f}, within {error.max():.1e} of bf16's")


if __name__ == "__main__":
    main()
