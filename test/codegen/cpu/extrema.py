"""Extrema of a whole tensor, whose loops LLVM vectorises: extrema.py BIN DIR
ARCH. Compares them with NumPy's, with a NaN in any place too. Many elements that
are stored as well are computed by a kernel of their own, on all threads."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

tools, folder, arch = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
SHAPE = [3, 7, 57]


def check_kernels(rows: int, kernels: int) -> None:
    """Counts the kernels that compute, store and reduce rows x 1024 elements."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 1024])
            for name in "xy")
    most = helper.make_tensor_value_info("most", TensorProto.FLOAT, [])
    graph = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"]),
         helper.make_node("ReduceMax", ["y"], ["most"], keepdims=0)],
        "stored", [x], [y, most])
    path = folder / f"stored_{rows}.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)]), path)
    text = subprocess.run(
        [tools / "fritc", path, f"-march={arch}", "--emit=fused", "-o", "-"],
        check=True, capture_output=True, text=True).stdout
    assert text.count("nn.fusion(") == kernels, text


def make() -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    outputs = {"most": "ReduceMax", "least": "ReduceMin"}
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], [name], keepdims=0)
         for name, op in outputs.items()], "extrema", [x],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [])
         for name in outputs])
    path = folder / "extrema.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)]), path)
    return path


def main() -> None:
    artifact = folder / "extrema.so"
    subprocess.run([tools / "fritc", make(), f"-march={arch}", "-save-temps",
                    "-o", artifact], check=True)
    text = (folder / f"extrema.{arch}.ll").read_text()
    for kind in "maximum", "minimum":
        assert f"llvm.vector.reduce.f{kind}" in text, f"no vectors: {kind}"
    rng = np.random.default_rng(0)
    for place in None, 0, 5, 600, -1:
        x = rng.standard_normal(SHAPE, dtype=np.float32)
        if place is not None:
            x.flat[place] = np.nan
        np.save(folder / "x.npy", x)
        subprocess.run([tools / "frit-run", artifact, "--device=cpu",
                        f"--input=x=@{folder}/x.npy",
                        f"--output=@{folder}/y.npz"], check=True,
                       stdout=subprocess.DEVNULL)
        y = np.load(folder / "y.npz")
        np.testing.assert_array_equal(y["most"], x.max())
        np.testing.assert_array_equal(y["least"], x.min())
    check_kernels(rows=16, kernels=1)
    check_kernels(rows=64, kernels=2)


main()
