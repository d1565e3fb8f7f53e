"""float8-products.py FOLDER: writes products of 8-bit floats, QDQ form, and what
NumPy computes. Scales are powers of two and weights have few bits, so that all
sums are exact in f32 whatever their order; only `scaled` is not."""
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
KINDS = {E4M3: TensorProto.FLOAT8E4M3FN, E5M2: TensorProto.FLOAT8E5M2,
         np.dtype(np.float16): TensorProto.FLOAT16}
MOST = {E4M3: 448, E5M2: 57344}
random = np.random.default_rng(0)
nodes, weights, inputs, outputs = [], [], {}, {}


def add(kind: str, *operands: str, **attributes: object) -> str:
    name = f"{kind.lower()}{len(nodes)}"
    nodes.append(helper.make_node(kind, operands, [name], name, **attributes))
    return name


def weight(values: np.ndarray) -> str:
    name = f"w{len(weights)}"
    values = np.asarray(values)
    kind = KINDS.get(values.dtype, TensorProto.FLOAT)
    weights.append(helper.make_tensor(name, kind, values.shape, values.tobytes(), raw=True))
    return name


def codes(x: np.ndarray, scale: np.ndarray, to: np.dtype) -> np.ndarray:
    return np.clip(x.astype(np.float32) / scale.astype(np.float32), -MOST[to], MOST[to]).astype(to)


def dequantize(name: str, q: np.ndarray, scale: np.ndarray, axis: int,
               wide: type = np.float32) -> tuple[str, np.ndarray]:
    zero = weight(np.zeros(scale.shape, q.dtype))
    shape = [1] * q.ndim
    if scale.ndim:
        shape[axis] = scale.size
    name = add("DequantizeLinear", name, weight(scale.astype(wide)), zero, axis=axis)
    return name, q.astype(np.float64) * scale.reshape(shape if scale.ndim else ())


def qdq(name: str, x: np.ndarray, scale: float | np.ndarray, axis: int = 1,
        to: np.dtype = E4M3, wide: type = np.float32) -> tuple[str, np.ndarray]:
    """Quantizes and dequantizes, as TensorRT Model Optimizer's exports do."""
    scale = np.asarray(scale)
    shape = [1] * x.ndim
    if scale.ndim:
        shape[axis] = scale.size
    q = codes(x, scale.reshape(shape) if scale.ndim else scale, to)
    zero = weight(np.zeros(scale.shape, to))
    name = add("QuantizeLinear", name, weight(scale.astype(wide)), zero, axis=axis)
    return dequantize(name, q, scale, axis, wide)


def given(*shape: int) -> tuple[str, np.ndarray]:
    """An input of multiples of 1/8."""
    name = f"x{len(inputs)}"
    inputs[name] = (random.integers(-40, 40, shape) / 8).astype(np.float32)
    return name, inputs[name].astype(np.float64)


def few(*shape: int) -> np.ndarray:
    return random.integers(-15, 16, shape) / 16


def powers(count: int) -> np.ndarray:
    return 2.0 ** random.integers(-6, -2, count)


def result(name: str, value: np.ndarray, to: str) -> None:
    nodes.append(helper.make_node("Identity", [name], [to], to))
    outputs[to] = value.astype(np.float32)


def conv(x: np.ndarray, w: np.ndarray, bias: np.ndarray, pad: int, group: int = 1) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    view = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    parts = [np.einsum("ncpqrs,kcrs->nkpq", a, b)
             for a, b in zip(np.split(view, group, 1), np.split(w, group, 0))]
    return np.concatenate(parts, 1) + bias.reshape(-1, 1, 1)


def perceptron() -> None:
    """Weights as floats with a scale per column, then codes with one scale; a
    residual; between them a bias, a relu and a quantization."""
    name, x = given(2, 37, 48)
    a, of_a = qdq(name, x, 2.0 ** -5)
    w = few(48, 72)
    b, of_b = qdq(weight(w.astype(np.float32)), w, powers(72))
    bias = few(72)
    y = of_a @ of_b + bias
    h = add("Relu", add("Add", add("MatMul", a, b), weight(bias.astype(np.float32))))
    h, of_h = qdq(h, np.maximum(y, 0), 2.0 ** -4)
    q = codes(few(72, 48), np.array(2.0 ** -4), E4M3)
    v, of_v = dequantize(weight(q), q, np.array(2.0 ** -4), 1)
    result(add("Add", add("MatMul", h, v), name), of_h @ of_v + x, "perceptron")


def mixed() -> None:
    name, x = given(5, 20)
    for kinds in ((E5M2, E4M3), (E4M3, E5M2), (E5M2, E5M2)):
        a, of_a = qdq(name, x, 2.0 ** -3, to=kinds[0])
        w = few(20, 14)
        b, of_b = qdq(weight(w.astype(np.float32)), w, powers(14), to=kinds[1])
        result(add("MatMul", a, b), of_a @ of_b, f"mixed{kinds[0] == E5M2:d}{kinds[1] == E5M2:d}")


def convolutions() -> None:
    for channels, group in ((3, 1), (16, 1), (16, 2)):
        name, x = given(2, channels, 9, 7)
        a, of_a = qdq(name, x, 2.0 ** -4)
        w = few(24, channels // group, 3, 3)
        b, of_b = qdq(weight(w.astype(np.float32)), w, powers(24), axis=0)
        bias = few(24)
        y = np.maximum(conv(of_a, of_b, bias, 1, group), 0)
        name = add("Relu", add("Conv", a, b, weight(bias.astype(np.float32)), pads=[1] * 4,
                               group=group))
        name, y = qdq(name, y, 2.0 ** -5)
        result(name, y, f"conv{channels}x{group}")


def half() -> None:
    """A model in f16, whose dequantized numbers are f16."""
    name, x = given(19, 32)
    inputs[name] = x.astype(np.float16)
    a, of_a = qdq(name, x, 2.0 ** -4, wide=np.float16)
    w = few(32, 24)
    b, of_b = qdq(weight(w.astype(np.float16)), w, powers(24), wide=np.float16)
    result(add("MatMul", a, b), of_a @ of_b, "half")
    outputs["half"] = outputs["half"].astype(np.float16)


def scaled() -> None:
    name, x = given(33, 64)
    a, of_a = qdq(name, x, 0.0117)
    w = random.standard_normal((64, 40)).astype(np.float32)
    b, of_b = qdq(weight(w), w, np.abs(w).max(0) / 448)
    result(add("MatMul", a, b), of_a @ of_b, "scaled")


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
perceptron()
mixed()
convolutions()
half()
scaled()
graph = helper.make_graph(
    nodes, "g",
    [helper.make_tensor_value_info(n, KINDS.get(x.dtype, TensorProto.FLOAT), x.shape)
     for n, x in inputs.items()],
    [helper.make_tensor_value_info(n, KINDS.get(y.dtype, TensorProto.FLOAT), y.shape)
     for n, y in outputs.items()],
    weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, folder / "products.onnx")
np.savez(folder / "in.npz", **inputs)
np.savez(folder / "out.npz", **outputs)
