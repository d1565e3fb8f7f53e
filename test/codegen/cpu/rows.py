"""Softmax and layer norm at batch 1, and erf: rows.py BIN DIR ARCH. Compares them
with NumPy's, on one thread and two."""
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

tools, folder, arch = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
RNG = np.random.default_rng(0)


def compile(name: str, nodes: list, shape: list[int], weights: dict) -> tuple[Path, str]:
    """Returns an artifact and its plan's text."""
    x, y = (helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape) for tensor in "xy")
    graph = helper.make_graph(nodes, name, [x], [y], [
        numpy_helper.from_array(value, tensor) for tensor, value in weights.items()])
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)]), path)
    artifact = path.with_suffix(".so")
    subprocess.run([tools / "fritc", path, f"-march={arch}", "-o", artifact], check=True)
    plan = subprocess.run([tools / "fritc", path, f"-march={arch}", "--emit=plan", "-o", "-"],
                          check=True, capture_output=True, text=True).stdout
    return artifact, plan


def run(artifact: Path, x: np.ndarray, threads: int) -> np.ndarray:
    np.save(folder / "x.npy", x)
    subprocess.run([tools / "frit-run", artifact, f"--input=@{folder}/x.npy", "--device=cpu",
                    f"--threads={threads}", f"--output=@{folder}/y.npy"],
                   check=True, capture_output=True)
    return np.load(folder / "y.npy")


def check_rows(name: str, nodes: list, shape: list[int], weights: dict, expected) -> None:
    artifact, plan = compile(name, nodes, shape, weights)
    items = re.findall(r"grid = array<i64: (\d+)", plan)
    assert items == [str(next(size for size in shape if size > 1))], plan
    assert "workspace" not in plan, plan
    x = RNG.standard_normal(shape, dtype=np.float32)
    one, two = (run(artifact, x, threads) for threads in (1, 2))
    np.testing.assert_allclose(one, expected(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(one, two)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def check_erf() -> None:
    x = np.concatenate([np.linspace(-6, 6, 65536, dtype=np.float32),
                        np.float32([0, 1e-30, -np.inf, np.inf, np.nan])])
    artifact, _ = compile("erf", [helper.make_node("Erf", ["x"], ["y"])], [len(x)], {})
    y = run(artifact, x, 1)
    expected = np.array([math.erf(each) for each in x.astype(np.float64)])
    assert np.isnan(y[-1]) and np.nanmax(np.abs(y)) == 1
    units = np.spacing(np.abs(expected[:-1]).astype(np.float32))
    assert (np.abs(y - expected)[:-1] <= 6.5 * units).all()


def main() -> None:
    check_rows("softmax", [helper.make_node("Softmax", ["x"], ["y"], axis=-1)],
               [1, 6, 64, 128], {}, softmax)
    weight = RNG.standard_normal(96, dtype=np.float32)
    check_rows("norm", [helper.make_node("LayerNormalization", ["x", "w"], ["y"], axis=-1)],
               [1, 128, 96], {"w": weight},
               lambda x: weight * (x - x.mean(-1, keepdims=True)) / np.sqrt(
                   x.var(-1, keepdims=True) + 1e-5))
    check_erf()


main()
