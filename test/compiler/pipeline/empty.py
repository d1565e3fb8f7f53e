"""Tensors without elements: inputs, weights and what becomes of them.

    empty.py WORK

One model on the cpu target, compared with NumPy.
"""
import sys
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

from commands import run, save


class Model:
    def __init__(self):
        self.nodes, self.weights, self.inputs, self.want = [], [], {}, {}
        self.rng = np.random.default_rng(7)

    def given(self, *shape, kind=np.float32):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.rng.standard_normal(shape).astype(kind)
        return name

    def const(self, value, kind=np.int64):
        name = f"c{len(self.weights)}"
        self.weights.append(
            numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def op(self, kind, operands, want, output=0, **attributes):
        """Adds a node, one of whose outputs is `want`."""
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            kind, operands, [""] * output + [name], **attributes))
        self.want[name] = np.asarray(want)


def build() -> Model:
    m = Model()
    nothing = lambda *shape: np.zeros(shape, np.float32)
    # Rows without elements, and no rows.
    for kind in ("Softmax", "LogSoftmax", "Hardmax", "Relu"):
        for shape in ((2, 0), (0, 3)):
            axis = {} if kind == "Relu" else {"axis": 1}
            m.op(kind, [m.given(*shape)], nothing(*shape), **axis)
    for kind, value in (("ReduceSum", 0), ("ReduceProd", 1),
                        ("ReduceMax", -np.inf), ("ReduceMin", np.inf),
                        ("ReduceLogSumExp", -np.inf), ("ReduceL2", 0),
                        ("ReduceMean", np.nan)):
        m.op(kind, [m.given(2, 0), m.const([1])],
             np.full((2, 1), value, np.float32))
        m.op(kind, [m.given(0, 3), m.const([1])], nothing(0, 1))
    m.op("ArgMax", [m.given(0, 3)], np.zeros((0, 1), np.int64), axis=1)
    m.op("MatMul", [m.given(2, 0), m.given(0, 3)], nothing(2, 3))
    # What is joined, moved or written is nothing.
    rest = m.given(2, 3)
    m.op("Concat", [m.given(0, 3), rest], m.inputs[rest], axis=0)
    m.op("Pad", [m.given(0, 2), m.const([1, 0, 1, 0])], nothing(2, 2))
    m.op("Gather", [rest, m.given(0, kind=np.int64)], nothing(0, 3))
    m.op("ScatterND", [rest, m.given(0, 1, kind=np.int64), m.given(0, 3)],
         m.inputs[rest])
    m.op("ScatterElements", [rest, m.given(0, 3, kind=np.int64),
                             m.given(0, 3)], m.inputs[rest])
    # Batches of nothing.
    m.op("Conv", [m.given(0, 2, 5, 5), m.given(3, 2, 3, 3)],
         nothing(0, 3, 3, 3))
    m.op("MaxPool", [m.given(0, 2, 5, 5)], nothing(0, 2, 3, 3),
         kernel_shape=[3, 3])
    m.op("Resize", [m.given(0, 2, 5, 4), "", m.const([1, 1, 2, 3],
                                                    np.float32)],
         nothing(0, 2, 10, 12))
    m.op("InstanceNormalization", [m.given(0, 2, 3), m.given(2), m.given(2)],
         nothing(0, 2, 3))
    m.op("GroupNormalization", [m.given(0, 4, 3), m.given(4), m.given(4)],
         nothing(0, 4, 3), num_groups=2)
    m.op("GridSample", [m.given(0, 2, 4, 4), m.given(0, 3, 5, 2)],
         nothing(0, 2, 3, 5))
    # No steps: the state stays.
    weights = [m.given(1, 12, 2), m.given(1, 12, 4)]
    state = m.given(1, 2, 4)
    m.op("GRU", [m.given(0, 2, 2), *weights, "", "", state],
         nothing(0, 1, 2, 4), hidden_size=4)
    m.op("GRU", [m.given(0, 2, 2), *weights, "", "", state],
         m.inputs[state], 1, hidden_size=4)
    # A first step of decoding: the past has no keys.
    k, v = m.given(1, 2, 1, 4), m.given(1, 2, 1, 4)
    m.op("Attention", [m.given(1, 2, 1, 4), k, v, "", m.given(1, 2, 0, 4),
                       m.given(1, 2, 0, 4)], m.inputs[v])
    m.op("Attention", [m.given(1, 2, 3, 4), m.given(1, 2, 0, 4),
                       m.given(1, 2, 0, 4)], nothing(1, 2, 3, 4))
    return m


def main(work):
    work.mkdir(parents=True, exist_ok=True)
    m = build()
    save(m, work / "m.onnx", "empty", 23)
    inputs = []
    for name, value in m.inputs.items():
        np.save(work / f"{name}.npy", value)
        inputs.append(f"--input={name}=@{work / name}.npy")
    run("fritc", work / "m.onnx", "-march=x86-64-v3", "-o", work / "m.so")
    run("frit-run", work / "m.so", "--device=cpu", *inputs,
        f"--output={work}/out.npz")
    got = np.load(work / "out.npz")
    for name, want in m.want.items():
        if got[name].shape != want.shape or got[name].dtype != want.dtype or \
                not np.allclose(got[name], want, equal_nan=True):
            print(f"{name}: {got[name]} is not {want}")
    print(f"{len(m.want)} compared")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
