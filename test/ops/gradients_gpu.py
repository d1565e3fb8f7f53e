"""Runs the gradients that gradients*.py list as one training step on a GPU.

    gradients_gpu.py [--device cuda] [--fritc PATH] [--only OP]

Every operand that is differentiated is an input plus a parameter, which begins
as 0. The model's outputs are sums of operators' results times fixed numbers,
and targets lie so far from them that each sum's gradient is 1. After a step of
plain gradient descent with rate 1 a parameter is its gradient, negative. The
artifact's cpu target takes the same step in f32; gradients*.py hold the
operators' meaning to central differences in f64.
"""
import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import harness

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
from runtime import Step  # noqa: E402

# Relative to the largest element, 1 at least.
TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "float16": 2e-2}


def collect():
    """Imports the lists without running them."""
    harness.run = lambda: None
    import gradients  # noqa: F401
    import gradients_networks  # noqa: F401
    return harness.gradients


def value_of(text):
    """An attribute's value in JSON."""
    if text.startswith("array<i64"):
        return [int(n) for n in re.findall(r"-?\d+", text[len("array<i64"):])]
    if text.startswith("#nn<combiner"):
        return text[len("#nn<combiner"):-1].strip()
    text = text.rsplit(" : ", 1)[0]
    if text.startswith('"'):
        return text.strip('"')
    try:
        return json.loads(text)
    except ValueError:
        return text


def attributes_of(text):
    """Attributes as the nn dialect prints them, as JSON's."""
    found = {}
    for part in re.findall(r"(?:[^,<]|<[^>]*>)+", text):
        key, equals, value = part.partition("=")
        found[key.strip()] = value_of(value.strip()) if equals else True
    return found


class Model:
    """A graph in JSON, its inputs' values and its parameters."""

    def __init__(self):
        self.nodes, self.inputs, self.values, self.parameters = [], [], {}, {}
        self.sums = []

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(dict(op=op, inputs=inputs, outputs=[name],
                               attributes=attributes))
        return name

    def input(self, name, array):
        array = np.asarray(array, order="C")
        self.inputs.append(dict(name=name, type=harness.NAMES[array.dtype.name],
                                shape=list(array.shape)))
        self.values[name] = array
        return name

    def computed(self, name, array):
        """Adds an input whose values the runtime doesn't hold to ranges, as it
        does with indices that are inputs: those out of range are clamped."""
        if array.dtype == bool:
            return self.input(name, array)
        rest = self.input(f"{name}.rest", np.zeros_like(array))
        return self.node("add", [self.input(name, array), rest])

    def add(self, index, op, inputs, shape, attributes, of):
        """Adds a case. Its number is the place of its sum."""
        operands = []
        for i, x in enumerate(inputs):
            name = f"c{index}.{i}"
            if not harness.is_float(x):
                operands.append(self.computed(name, x))
                continue
            operand = self.input(name, x.astype(np.float32))
            if i in of:
                # Single numbers do not train.
                parameter = f"p{index}.{i}"
                self.parameters[parameter] = np.zeros(x.shape or 1, np.float32)
                if not x.shape:
                    parameter = self.node("reshape", [parameter], shape=[])
                operand = self.node("add", [operand, parameter])
            if x.dtype == np.float16:
                operand = self.node("cast", [operand], to="f16")
            operands.append(operand)
        y = self.node(op, operands, **attributes_of(attributes.replace(
            "to = f64", "to = f32")))
        weights = harness.random(*shape, dtype=np.float64, seed=77)
        y = self.node("cast", [y], to="f32")
        y = self.node("mul", [y, self.input(f"w{index}",
                                            weights.astype(np.float32))])
        y = self.node("reduce", [y], kind="sum", axes=list(range(len(shape))))
        self.sums.append(self.node("reshape", [y], shape=[1]))

    def write(self, folder):
        parts = self.sums
        while len(parts) > 1:
            parts = [self.node("concat", parts[i:i + 16], axis=0)
                     for i in range(0, len(parts), 16)]
        (folder / "m.json").write_text(json.dumps(
            dict(frit=1, inputs=self.inputs, weights="m.safetensors",
                 nodes=self.nodes, outputs=parts)))
        header, data = {}, b""
        for name, array in self.parameters.items():
            begin, data = len(data), data + array.tobytes()
            header[name] = dict(dtype="F32", shape=list(array.shape),
                                data_offsets=[begin, len(data)])
        text = json.dumps(header).encode()
        (folder / "m.safetensors").write_bytes(
            len(text).to_bytes(8, "little") + text + data)
        (folder / "train.json").write_text(json.dumps(
            {"loss": {"kind": "mse"},
             "optimizer": {"kind": "sgd", "learning_rate": 1}}))
        return parts[0]

    def step(self, artifact, device, output):
        """Returns the parameters after a step."""
        step = Step(str(artifact), device)
        count = len(self.sums)
        zeros = np.zeros(count, np.float32)
        sums = step.evaluate(**self.values, target=zeros)[output]
        step.train(**self.values,
                   target=(sums - np.float32(count / 2)).astype(np.float32))
        after = step.read()
        step.close()
        return {name: -after[name] for name in self.parameters}


def lost(x):
    """Returns the relative error in f32 of an operand's differences, as norms have
    them."""
    if not harness.is_float(x) or np.ptp(x) == 0:
        return 0
    return 2e-6 * float(abs(x).max() / np.ptp(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--march", default="sm_90a")
    parser.add_argument("--fritc", default="fritc")
    parser.add_argument("--only", default=".*")
    args = parser.parse_args()
    model, cases = Model(), []
    for op, inputs, shape, attributes, of, _ in collect():
        if re.fullmatch(args.only, op) and math.prod(shape) and all(
                x.size for x in inputs):
            model.add(len(cases), op, inputs, shape, attributes, of)
            cases.append((op, inputs, attributes, of))
    failures, worst = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        output = model.write(folder)
        done = subprocess.run(
            [args.fritc, "m.json", "--train=train.json", "-o", "m.so",
             f"-march=x86-64-v3,{args.march}"], cwd=folder, capture_output=True,
            text=True)
        if done.returncode:
            sys.exit(done.stderr[:4000])
        ours = model.step(folder / "m.so", args.device, output)
        expected = model.step(folder / "m.so", "cpu", output)
    for index, (op, inputs, attributes, of) in enumerate(cases):
        for i in of:
            actual, wanted = (x[f"p{index}.{i}"] for x in (ours, expected))
            size = max(1, abs(wanted).max())
            error = abs(actual - wanted).max() / size
            worst = max(worst, error)
            if not error <= max(TOLERANCE[inputs[i].dtype.name],
                                max(map(lost, inputs))):
                failures += 1
                print(f"nn.{op} {{{attributes}}} "
                      f"({', '.join(harness.type_of(x) for x in inputs)}): the "
                      f"gradient of operand {i} is off by {error}\n"
                      f"  is        {actual.ravel()[:12]}\n"
                      f"  should be {wanted.ravel()[:12]}")
    print(f"{len(cases)} operators, {failures} failures, off by {worst:.1e} "
          "at most")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
