"""Fusions of the nn dialect as text, with their meaning in NumPy."""

import math
import re
import subprocess

import numpy as np

RUNS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "exp": np.exp, "rsqrt": lambda a: 1 / np.sqrt(a),
    "gather": lambda a, i: a[i],
    "relu": lambda a: np.maximum(a, 0),
    "gelu_grad": lambda a, dy: dy * (
        0.5 * (1 + np.vectorize(math.erf)(a / 2**0.5)) +
        a * np.exp(-0.5 * a * a) / (2 * math.pi)**0.5),
    "gelu": lambda a: 0.5 * a * (1 + np.vectorize(math.erf)(a / 2**0.5)),
}

BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i64": 8, "i1": 1, "i8": 1, "ui8": 1}


class Tensor:
    def __init__(self, element, *shape):
        self.element, self.shape = element, shape

    def __str__(self):
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    @property
    def count(self):
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def bytes(self):
        return self.count * BYTES[self.element]

    def like(self, element=None, *shape):
        return Tensor(element or self.element, *(shape or self.shape))


class Fusion:
    """One nn.fusion as text; `op` gives the name of its result."""

    def __init__(self, name, *inputs):
        self.name, self.inputs = name, inputs
        self.types = {f"%x{i}": t for i, t in enumerate(inputs)}
        self.lines, self.steps, self.outputs = [], [], []
        self.read = sum(t.bytes for t in inputs)

    def op(self, name, *operands, to=None, attributes="", run=None):
        """Adds an operator; `run` computes it in NumPy for the check."""
        result = to or self.types[operands[0]]
        value = f"%v{len(self.lines)}"
        types = ", ".join(str(self.types[o]) for o in operands)
        attributes = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f"{value} = nn.{name} {', '.join(operands)}"
                          f"{attributes} : ({types}) -> {result}")
        self.types[value] = result
        self.steps.append((value, run or RUNS[name], operands, result))
        return value

    def constant(self, number, element="f32"):
        value = f"%v{len(self.lines)}"
        self.types[value] = Tensor(element)
        self.lines.append(
            f"{value} = nn.constant dense<{number:e}> : tensor<{element}>")
        self.steps.append((value, lambda: np.float64(number), (), Tensor("f32")))
        return value

    def cast(self, x, element):
        to = self.types[x].like(element)
        return self.op("cast", x, to=to, attributes=f"to = {element}",
                       run=lambda a: a)

    def reduce(self, x, kind, *axes):
        shape = [1 if i in axes else n
                 for i, n in enumerate(self.types[x].shape)]
        combine = {"sum": np.sum, "max": np.max, "min": np.min}[kind]
        return self.op("reduce", x, to=Tensor(self.types[x].element, *shape),
                       run=lambda a: combine(a, axes, keepdims=True),
                       attributes=f"kind = #nn<combiner {kind}>, "
                       f"axes = array<i64: {', '.join(map(str, axes))}>")

    def evaluate(self, inputs):
        """The outputs in float64."""
        values = {f"%x{i}": x if x.dtype.kind == "i" else x.astype(np.float64)
                  for i, x in enumerate(inputs)}
        for value, run, operands, _ in self.steps:
            values[value] = run(*(values[o] for o in operands))
        return [values[v] for v in self.outputs]

    def give(self, *values):
        self.outputs = values
        return self

    @property
    def moved(self):
        return self.read + sum(self.types[v].bytes for v in self.outputs)

    def text(self, at):
        inputs = ", ".join(f"%a{at}_{i}" for i in range(len(self.inputs)))
        types = ", ".join(map(str, self.inputs))
        arguments = ", ".join(f"%x{i}: {t}" for i, t in enumerate(self.inputs))
        results = ", ".join(str(self.types[v]) for v in self.outputs)
        count = f":{len(self.outputs)}" if len(self.outputs) > 1 else ""
        body = "\n".join(f"    {line}" for line in self.lines)
        return (f"  %r{at}{count} = nn.fusion({inputs}) : ({types}) -> "
                f"({results}) {{\n  ^bb0({arguments}):\n{body}\n"
                f"    nn.yield {', '.join(self.outputs)} : {results}\n  }}\n")


def softmax(name, x, axis=1, mask=None):
    f = Fusion(name, x, *([mask] if mask else []))
    value = f.op("add", "%x0", "%x1") if mask else "%x0"
    value = f.cast(value, "f32")
    value = f.op("exp", f.op("sub", value, f.reduce(value, "max", axis)))
    value = f.op("div", value, f.reduce(value, "sum", axis))
    return f.give(f.cast(value, x.element))


def normalize(f, x, axis, scale, shift, mean=True):
    shape = f.types[x].shape
    value = f.cast(x, "f32")
    count = f.constant(shape[axis])
    if mean:
        value = f.op("sub", value,
                     f.op("div", f.reduce(value, "sum", axis), count))
    power = f.reduce(f.op("mul", value, value), "sum", axis)
    power = f.op("add", f.op("div", power, count), f.constant(1e-5))
    value = f.op("mul", f.op("mul", value, f.op("rsqrt", power)), scale)
    if shift:
        value = f.op("add", value, shift)
    return f.cast(value, f.types[x].element)


def layer_norm(name, x, residual=False):
    weights = Tensor("f32", x.shape[-1])
    f = Fusion(name, x, weights, weights, *([x] if residual else []))
    axis = len(x.shape) - 1
    if residual:
        total = f.op("add", "%x0", "%x3")
        return f.give(normalize(f, total, axis, "%x1", "%x2"), total)
    return f.give(normalize(f, "%x0", axis, "%x1", "%x2"))


def permute(name, x, *perm, to=None):
    f = Fusion(name, x)
    value = f.cast("%x0", to) if to else "%x0"
    shape = [x.shape[d] for d in perm]
    return f.give(f.op("transpose", value,
                       to=Tensor(to or x.element, *shape),
                       run=lambda a: a.transpose(perm),
                       attributes=f"perm = array<i64: "
                       f"{', '.join(map(str, perm))}>"))


def windows(x, kind, size, stride, pad, out, at):
    """Pooling of two dimensions from `at` on; pads do not count."""
    x = np.moveaxis(x, (at, at + 1), (0, 1))
    y = np.empty((*out, *x.shape[2:]))
    combine = np.max if kind == "max" else np.mean
    for i, j in np.ndindex(*out):
        place = [slice(max(k * stride - pad, 0), k * stride - pad + size)
                 for k in (i, j)]
        y[i, j] = combine(x[place[0], place[1]], (0, 1))
    return np.moveaxis(y, (0, 1), (at, at + 1))


def pool(name, kind, x, size, stride, pad, last):
    at = 1 if last else 2
    out = [(n + 2 * pad - size) // stride + 1 for n in x.shape[at:at + 2]]
    shape = list(x.shape)
    shape[at:at + 2] = out
    pair = lambda n: f"array<i64: {n}, {n}>"
    f = Fusion(name, x)
    return f.give(f.op(
        f"{kind}_pool", "%x0", to=Tensor(x.element, *shape),
        run=lambda a: windows(a, kind, size, stride, pad, out, at),
        attributes=f"window = {pair(size)}, strides = {pair(stride)}, "
        f"pads = array<i64: {pad}, {pad}, {pad}, {pad}>, "
        f"dilations = {pair(1)}, shape = array<i64: {out[0]}, {out[1]}>"
        + ", channels_last" * last))


def products(x, w, strides, pads, dilations, out):
    """A convolution of each channel by itself, channels last."""
    x = np.pad(x, [(0, 0), pads[::2], pads[1::2], (0, 0)])
    y = np.zeros((x.shape[0], *out, x.shape[3]))
    for tap in np.ndindex(*w.shape[:2]):
        place = [slice(t * d, t * d + (n - 1) * s + 1, s)
                 for t, d, n, s in zip(tap, dilations, out, strides)]
        y += x[:, place[0], place[1]] * w[tap]
    return y


def depthwise(name, x, window, strides=(1, 1), pads=(0, 0, 0, 0),
              dilations=(1, 1), after="relu", residual=False):
    channels = x.shape[3]
    out = [(n + low + high - d * (t - 1) - 1) // s + 1
           for n, low, high, d, t, s in zip(x.shape[1:3], pads[:2], pads[2:],
                                            dilations, window, strides)]
    y = Tensor(x.element, x.shape[0], *out, channels)
    f = Fusion(name, x, Tensor(x.element, *window, channels),
               Tensor(x.element, channels), *([y] if residual else []))
    lists = ", ".join(
        f"{key} = array<i64: {', '.join(map(str, value))}>"
        for key, value in (("strides", strides), ("pads", pads),
                           ("dilations", dilations)))
    value = f.op("depthwise_conv", "%x0", "%x1", to=y, attributes=lists,
                 run=lambda a, w: products(a, w, strides, pads, dilations, out))
    value = f.op(after, f.op("add", value, "%x2"))
    return f.give(f.op("add", value, "%x3") if residual else value)


def module(fusions):
    arguments, text = [], ""
    for at, f in enumerate(fusions):
        arguments += [f"%a{at}_{i}: {t}" for i, t in enumerate(f.inputs)]
        text += f.text(at)
    return f"func.func @bandwidth({', '.join(arguments)}) {{\n{text}  return\n}}\n"


def print_cuda(frit_opt, fusions):
    """Their kernels k0, k1, ... and how each is launched: schedule, grid,
    block, bytes of shared memory, the parameters after the pointers."""
    text = subprocess.run(
        [frit_opt, "-", "--print-cuda", "-o", "/dev/null"],
        input=module(fusions), text=True, check=True,
        stdout=subprocess.PIPE).stdout
    launches = re.findall(
        r"^// k\d+ #cuda\.(.*) grid (\w+) block (\w+)"
        r"(?: shared (\d+))?(?: scalars ([\dx]+))?", text, re.M)
    assert len(launches) == len(fusions)
    return text, [(*launch, [int(n) for n in scalars.split("x") if n])
                  for *launch, scalars in launches]
