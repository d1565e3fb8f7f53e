"""float8-tensorrt.py FOLDER: writes a product and a convolution of 8-bit floats as
TensorRT Model Optimizer exports them, trt.onnx, and by ONNX's own operators,
plain.onnx, and inputs for both."""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)
WEIGHTS = {"w": random.normal(0, 0.1, (64, 96)).astype(np.float32),
           "f": random.normal(0, 0.1, (32, 16, 3, 3)).astype(np.float32)}
SCALES = {"x": 0.011, "w": 0.0009, "image": 0.013, "f": 0.0007}


def write(path: Path, is_trt: bool) -> None:
    nodes, weights = [], [numpy_helper.from_array(w, name) for name, w in WEIGHTS.items()]
    zero = [] if is_trt else ["zero"]
    if zero:
        weights.append(helper.make_tensor("zero", TensorProto.FLOAT8E4M3FN, [], b"\0", raw=True))

    def rounded(name: str) -> str:
        weights.append(numpy_helper.from_array(np.float32(SCALES[name]), f"{name}_scale"))
        for kind, source, to in (("Quantize", name, f"{name}_q"),
                                 ("Dequantize", f"{name}_q", f"{name}_d")):
            nodes.append(helper.make_node(
                f"TRT_FP8{kind}Linear" if is_trt else f"{kind}Linear",
                [source, f"{name}_scale", *zero], [to], domain="trt" if is_trt else ""))
        return f"{name}_d"

    nodes.append(helper.make_node("MatMul", [rounded("x"), rounded("w")], ["y"], "product"))
    nodes.append(helper.make_node("Conv", [rounded("image"), rounded("f")], ["z"], "conv"))
    floats = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        nodes, "floats", [floats("x", [8, 64]), floats("image", [2, 16, 10, 10])],
        [floats("y", [8, 96]), floats("z", [2, 32, 8, 8])], weights)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 19), helper.make_opsetid("trt", 1)]), path)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
write(folder / "trt.onnx", True)
write(folder / "plain.onnx", False)
np.savez(folder / "in.npz", x=random.normal(0, 1, (8, 64)).astype(np.float32),
         image=random.normal(0, 1, (2, 16, 10, 10)).astype(np.float32))
