"""Queries that see no key, however a model hides the keys.

    hidden_rows.py WORK LIB EMULATE

One model has attention in all forms of masks, each with the guard that
exporters write after a softmax and without, and ONNX's own operator. Both the
cpu target and the emulated CUDA kernels must give NumPy's results: NaN without
a guard, zeros with one, and the mean of the values where finite numbers hide
all keys.
"""
import os
import re
import sys
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

from commands import run, save

BATCH, HEADS, QUERIES, KEYS, SIZE = 2, 2, 4, 5, 8
LOWEST = np.finfo(np.float32).min
NEVER = np.float32(-np.inf)
SCALE = np.float32(SIZE**-0.5)


class Model:
    def __init__(self):
        rng = np.random.default_rng(3)
        self.nodes, self.weights, self.inputs, self.want = [], [], {}, {}
        for name, length in (("q", QUERIES), ("k", KEYS), ("v", KEYS)):
            shape = (BATCH, HEADS, length, SIZE)
            self.inputs[name] = rng.standard_normal(shape, np.float32)
        product = self.inputs["q"] @ self.inputs["k"].swapaxes(-1, -2)
        self.scores = product.astype(np.float64) * SCALE

    def op(self, kind, *operands, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name],
                                           **attributes))
        return name

    def const(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def given(self, value):
        name = f"m{len(self.inputs)}"
        self.inputs[name] = value
        return name

    def queries(self):
        """An input of its own: a product that several read is no attention."""
        return self.given(self.inputs["q"])

    def output(self, name, value):
        self.nodes[-1].output[0] = name
        self.want[name] = value.astype(np.float32)

    def attend(self, name, mask, scores):
        """Writes products and a softmax, whose scores `mask` changes; `scores`
        are the truth."""
        for guarded in (False, True):
            k = self.op("Transpose", "k", perm=[0, 1, 3, 2])
            s = self.op("Mul", self.op("MatMul", self.queries(), k),
                        self.const(SCALE))
            p = self.op("Softmax", mask(s), axis=-1)
            if guarded:
                p = self.op("Where", self.op("IsNaN", p),
                            self.const(np.float32(0)), p)
            self.op("MatMul", p, "v")
            self.output(f"{name}_{'guarded' if guarded else 'plain'}",
                        self.weigh(scores, 0 if guarded else np.nan))

    def weigh(self, scores, hidden):
        with np.errstate(invalid="ignore"):
            e = np.exp(scores - scores.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return np.where(np.isnan(p), hidden, p) @ self.inputs["v"]

    def operator(self, name, scores, operands=(), **attributes):
        """Writes ONNX's operator, whose rows without keys are zero."""
        self.op("Attention", self.queries(), "k", "v", *operands,
                **attributes)
        self.output(name, self.weigh(scores, 0))


def combine_finite(m, past, left):
    """Constant causal masks and masks of padding keys, both by finite numbers.
    The first queries of a batch see only padding: their weights go to the keys
    with the largest sum of numbers, hidden ones too."""
    s = m.scores.astype(np.float32)
    for name, low in (("lowest", LOWEST), ("billion", np.float32(-1e9)),
                      ("ten_thousand", np.float32(-1e4))):
        future = np.where(past, np.float32(0), low)
        padding = np.where(left, np.float32(0), low)
        # Of NumPy's scores beside large numbers as many bits remain.
        with np.errstate(over="ignore"):
            both = future + padding
            forms = {
                "added": (lambda x: m.op("Add", m.op("Add", x, m.const(
                    future)), m.given(padding)), (s + future) + padding),
                "added_together": (lambda x: m.op("Add", x, m.op(
                    "Add", m.const(future), m.given(padding))), s + both),
                "selected_added": (lambda x: m.op("Add", m.op(
                    "Where", m.const(past), x, m.const(low)), m.given(
                        padding)), np.where(past, s, low) + padding),
                "added_selected": (lambda x: m.op("Where", m.const(
                    past), m.op("Add", x, m.given(padding)), m.const(low)),
                    np.where(past, s + padding, low)),
                "selected": (lambda x: m.op("Where", m.given(left), m.op(
                    "Where", m.const(past), x, m.const(low)), m.const(low)),
                    np.where(past & left, s, low)),
                "selected_never": (lambda x: m.op("Where", m.const(
                    past), m.op("Where", m.given(left), x, m.const(NEVER)),
                    m.const(low)), np.where(past, np.where(left, s, NEVER),
                                            low)),
            }
        for form, (mask, scores) in forms.items():
            m.attend(f"finite_{form}_{name}", mask,
                     scores.astype(np.float64))


def build() -> Model:
    m = Model()
    s = m.scores
    # Query 1 sees no key; of the other queries some see few.
    seen = np.tri(QUERIES, KEYS, 1, dtype=bool)
    seen[1] = False
    left = np.ones((BATCH, 1, 1, KEYS), bool)  # padded on the left
    left[0, ..., :2] = False
    past = np.tri(QUERIES, KEYS, dtype=bool)
    heads = np.broadcast_to(seen, (HEADS, QUERIES, KEYS)).copy()
    heads[1] = True
    heads[1, 3] = False
    for name, low in (("never", NEVER), ("lowest", LOWEST),
                      ("ten_thousand", np.float32(-1e4))):
        bias = np.where(seen, np.float32(0.5), low)
        m.attend(f"added_{name}", lambda x: m.op("Add", x, m.given(bias)),
                 (s.astype(np.float32) + bias).astype(np.float64))
        bias = np.where(heads, np.float32(0), low)
        m.attend(f"weights_{name}", lambda x: m.op("Add", m.const(bias), x),
                 (s.astype(np.float32) + bias).astype(np.float64))
        m.attend(f"selected_{name}", lambda x: m.op(
            "Where", m.given(seen), x, m.const(low)), np.where(seen, s, low))
    m.attend("converted", lambda x: m.op("Add", x, m.op(
        "Where", m.given(left), m.const(np.float32(0)), m.const(NEVER))),
        np.where(left, s, NEVER))
    m.attend("padded", lambda x: m.op("Where", m.given(left), m.op(
        "Add", x, m.const(np.where(past, np.float32(0), NEVER))),
        m.const(NEVER)), np.where(left & past, s, NEVER))
    m.attend("finite_last", lambda x: m.op("Where", m.given(seen), m.op(
        "Where", m.given(left), x, m.const(NEVER)), m.const(LOWEST)),
        np.where(seen, np.where(left, s, NEVER), LOWEST))
    m.attend("finite_first", lambda x: m.op("Where", m.given(left), m.op(
        "Where", m.given(seen), x, m.const(LOWEST)), m.const(NEVER)),
        np.where(left, np.where(seen, s, LOWEST), NEVER))
    combine_finite(m, past, left)
    never = np.where(seen, np.float32(0.25), NEVER)
    m.operator("operator_bool", np.where(seen, s, NEVER), [m.given(seen)])
    m.operator("operator_float", s + never, [m.given(never)])
    m.operator("operator_weight", s + never, [m.const(never)])
    m.operator("operator_lowest", np.where(seen, s, LOWEST),
               [m.given(np.where(seen, np.float32(0), LOWEST))])
    m.operator("operator_causal", np.where(left & past, s, NEVER),
               [m.given(left)], is_causal=1)
    counts = np.array([0, 3])
    there = np.arange(KEYS) < counts[:, None, None, None]
    m.operator("operator_counts", np.where(there, s, NEVER),
               ["", "", "", m.given(counts)])
    return m


def compare(target, got, want, tolerance=5e-4):
    for name, value in want.items():
        # Scores near 10,000 have few bits left, and in f16, where these
        # operators are no attention, none.
        if tolerance > 1e-2 and re.match(
                "finite_(selected_added|added_selected)_ten_thousand", name):
            continue
        same = np.isclose(got[name], value, tolerance, tolerance,
                          equal_nan=True)
        if not same.all():
            row = np.argmin(same) // SIZE
            print(f"{target}: {name}: row {row}: "
                  f"{got[name].reshape(-1, SIZE)[row]} is not "
                  f"{value.reshape(-1, SIZE)[row]}")
    print(f"{target}: {len(want)} compared")


def main(work, library, emulate):
    work.mkdir(parents=True, exist_ok=True)
    m = build()
    save(m, work / "m.onnx", "hidden", 24)
    inputs = []
    for name, value in m.inputs.items():
        np.save(work / f"{name}.npy", value)
        inputs.append(f"--input={name}=@{work / name}.npy")
    half = "-fprecision=fp16"
    for flags in ([], ["-O0"], [half]):
        run("fritc", work / "m.onnx", "-march=x86-64-v3", "-o",
            work / "cpu.so", *flags)
        run("frit-run", work / "cpu.so", "--device=cpu", *inputs,
            f"--output={work}/cpu.npz")
        compare(" ".join(["cpu", *flags]), np.load(work / "cpu.npz"), m.want,
                3e-2 if half in flags else 5e-4)
    for flags in ([half], []):
        run("fritc", work / "m.onnx", "-march=sm_90a", "-o", work / "cuda.so",
            *flags, env=os.environ | {"FRIT_NVRTC": str(library)})
        run(sys.executable, emulate, work / "cuda.so", "-o",
            work / "kernels.so", "--level=0")
        run("emulate_run", work / "cuda.so", work / "kernels.so", "--seeds=1",
            *inputs, f"--output={work}/cuda.npz")
        compare(" ".join(["cuda", *flags]), np.load(work / "cuda.npz"), m.want,
                3e-2 if half in flags else 5e-4)
    text = (work / "cuda.so").read_bytes()
    print(f"{text.count(b'unguarded = true')} kernels unguarded, "
          f"{text.count(b'unguarded = false')} guarded")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
