"""Writes the data of the tests of frit-train: make_data.py FOLDER

Three classes of points in four dimensions, which a line parts: 203 samples to
train on and 61 to evaluate on. Also model.onnx, whose weights are the step's,
and files that do not fit.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(1)
centers = np.array([[2, 0, 0, 1], [0, 2, 0, -1], [0, 0, 2, 0]], np.float32)


def samples(count):
    labels = random.integers(0, 3, count)
    noise = random.normal(0, 1.0, (count, 4))
    return (centers[labels] + noise).astype(np.float32), labels


x, labels = samples(203)
save_file({"x": x, "labels": labels}, folder / "train.safetensors")
np.savez(folder / "train.npz", x=x, labels=labels)
(folder / "train").mkdir(exist_ok=True)
np.save(folder / "train" / "x.npy", x)
np.save(folder / "train" / "labels.npy", labels)
ex, elabels = samples(61)
np.savez(folder / "test.npz", x=ex, labels=elabels)
np.savez(folder / "few.npz", x=x[:7], labels=labels[:7])
np.savez(folder / "less.npz", x=x[:200], labels=labels[:200])
(folder / "damaged.npy").write_bytes(b"\x93NUMPY\x01\x00\x04\x00{{{{")
np.savez(folder / "bytes.npz", x=x.astype(np.uint8), labels=labels)
wrong = labels.copy()
wrong[150] = 3
np.savez(folder / "wrong.npz", x=x, labels=wrong)
gap = x.copy()
gap[77, 2] = np.nan
np.savez(folder / "nan.npz", x=gap, labels=labels)


def make_model(path, weight, bias):
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["logits"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 4])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [8, 3])],
        [numpy_helper.from_array(weight, "fc.weight"),
         numpy_helper.from_array(bias, "fc.bias")])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


zeros = np.zeros((4, 3), np.float32)
make_model(folder / "model.onnx", zeros, np.zeros(3, np.float32))
make_model(folder / "half.onnx", zeros.astype(np.float16), np.zeros(3, np.float16))
make_model(folder / "wide.onnx", np.zeros((5, 3), np.float32), np.zeros(3, np.float32))
# As PyTorch's exporter stores equal weights: the bias is a copy of another.
same = onnx.load(folder / "model.onnx")
same.graph.initializer[1].name = "zeros"
same.graph.node.insert(0, helper.make_node("Identity", ["zeros"], ["fc.bias"]))
onnx.save(same, folder / "same.onnx")
onnx.save(onnx.load(folder / "model.onnx"), folder / "apart.onnx",
          save_as_external_data=True, location="apart.bin", size_threshold=0)
