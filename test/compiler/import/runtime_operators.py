"""Operators that ONNX Runtime's graph optimiser writes, compared with it; those
that it has for GPUs only, with NumPy.

Usage: runtime_operators.py WORK [--only REGEX]
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape, type=np.uint8):
    return RNG.integers(np.iinfo(type).min, np.iinfo(type).max, shape, type, endpoint=True)


def gelu(x):
    from math import erf
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def normalize(x, groups):
    """x is n×channels×…"""
    rows = x.reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    return rows.reshape(x.shape)


def convolve(x, w):
    """A 3×3 convolution of channels-last tensors, with a margin of one."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    n, height, width, _ = x.shape
    return sum(padded[:, i:i + height, j:j + width] @ w[:, i, j].T
               for i in range(3) for j in range(3))


def group_norm(x, gamma, beta, silu):
    y = normalize(x.transpose(0, 3, 1, 2), 2).transpose(0, 2, 3, 1) * gamma + beta
    return y / (1 + np.exp(-y)) if silu else y


# A name, the operator, its inputs (None for an omitted one), the number of outputs, attributes,
# and for operators that ONNX Runtime has for GPUs only the expected results.
X, BIAS = floats(2, 5, 8), floats(8)
IDS = RNG.integers(0, 9, (2, 5)).astype(np.int32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
NHWC, FILTERS = floats(2, 4, 4, 6), floats(4, 3, 3, 6)
# A scale and a zero point of one number.
SCALE, ZERO = np.float32(0.02), np.uint8(131)
CASES = [
    ("gelu", "Gelu", [X], 1, {}),
    ("bias_gelu", "BiasGelu", [X, BIAS], 1, {}),
    ("fast_gelu", "FastGelu", [X], 1, {}),
    ("fast_gelu_bias", "FastGelu", [X, BIAS], 1, {}),
    ("quick_gelu", "QuickGelu", [X], 1, {"alpha": 1.5}),
    ("skip_layer_norm", "SkipLayerNormalization", [X, floats(2, 5, 8), BIAS, floats(8)], 1, {}),
    ("skip_layer_norm_sum", "SkipLayerNormalization",
     [X, floats(1, 5, 8), BIAS, None, floats(8)], 4, {"epsilon": 1e-3}),
    ("skip_rms_norm", "SkipSimplifiedLayerNormalization", [X, floats(2, 5, 8), BIAS, floats(8)], 4,
     {"epsilon": 1e-3}),
    ("rms_norm", ":SimplifiedLayerNormalization", [X, BIAS], 1, {"epsilon": 1e-3}),
    ("embed", "EmbedLayerNormalization",
     [IDS, (IDS > 4).astype(np.int32), floats(9, 8), floats(5, 8), floats(2, 8), BIAS, floats(8),
      MASK], 2, {}),
    ("embed_positions", "EmbedLayerNormalization",
     [IDS, None, floats(9, 8), floats(9, 8), None, BIAS, floats(8), None, IDS[::-1].copy()], 3, {}),
    ("fused_matmul", "FusedMatMul", [floats(2, 3, 8, 5), floats(2, 3, 4, 8)], 1,
     {"alpha": 0.5, "transA": 1, "transB": 1}),
    ("fused_matmul_batch", "FusedMatMul", [floats(5, 2, 3, 8), floats(2, 3, 8, 4)], 1,
     {"transBatchA": 1}),
    ("fused_gemm", "FusedGemm", [floats(3, 4), floats(4, 5), floats(5)], 1,
     {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5}),
    ("fused_conv", "FusedConv", [floats(1, 4, 6, 6), floats(8, 4, 3, 3), BIAS, floats(1, 8, 6, 6)],
     1, {"activation": "Relu", "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
    ("fused_conv_clip", "FusedConv", [floats(1, 4, 6, 6), floats(8, 2, 3, 3)], 1,
     {"activation": "Clip", "activation_params": [-0.5, 0.75], "group": 2}),
    ("fused_conv_hard", "FusedConv", [floats(1, 4, 6, 6), floats(8, 4, 3, 3)], 1,
     {"activation": "HardSigmoid", "activation_params": [0.3, 0.4], "strides": [2, 2]}),
    ("attention", "Attention", [X, floats(8, 24), floats(24)], 1, {"num_heads": 2}),
    ("attention_sizes", "Attention", [X, floats(8, 20), floats(20)], 1,
     {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4], "scale": 0.3}),
    ("attention_mask", "Attention", [X, floats(8, 24), floats(24), MASK], 1, {"num_heads": 2}),
    ("attention_lengths", "Attention",
     [X, floats(8, 24), floats(24), np.array([3, 5], np.int32)], 1, {"num_heads": 2}),
    ("attention_ends", "Attention",
     [X, floats(8, 24), floats(24), np.array([4, 5, 1, 0], np.int32)], 1, {"num_heads": 2}),
    ("attention_mask3", "Attention",
     [X, floats(8, 24), floats(24), np.tril(np.ones((2, 5, 5), np.int32))], 1, {"num_heads": 2}),
    ("attention_causal", "Attention", [X, floats(8, 24), floats(24)], 1,
     {"num_heads": 2, "unidirectional": 1}),
    ("attention_past", "Attention",
     [X, floats(8, 24), floats(24), None, floats(2, 2, 2, 3, 4)], 2,
     {"num_heads": 2, "unidirectional": 1}),
    ("attention_bias", "Attention",
     [X, floats(8, 24), floats(24), None, None, floats(1, 2, 5, 5)], 1, {"num_heads": 2}),
    ("q_attention", "QAttention",
     [codes(2, 5, 8), codes(8, 24), floats(24), SCALE, SCALE, MASK, ZERO, ZERO], 1,
     {"num_heads": 2}),
    ("q_attention_columns", "QAttention",
     [codes(2, 5, 8), codes(8, 24, type=np.int8), floats(24), SCALE,
      np.abs(floats(24)) / 50, None, ZERO, np.zeros(24, np.int8)], 1,
     {"num_heads": 2}),
    ("q_attention_past", "QAttention",
     [codes(2, 5, 8), codes(8, 24, type=np.int8), floats(24), SCALE, SCALE, None, ZERO, np.int8(3),
      floats(2, 2, 2, 3, 4)], 2, {"num_heads": 2, "unidirectional": 1}),
    ("q_embed", "QEmbedLayerNormalization",
     [IDS, IDS % 2, codes(9, 8), codes(6, 8), codes(2, 8), codes(8), codes(8), MASK,
      *[np.float32(0.01 * i) for i in range(1, 6)], *[np.uint8(120 + i) for i in range(5)]], 2, {}),
    ("q_embed_words", "QEmbedLayerNormalization",
     [IDS, None, *[codes(n, 8, type=np.int8) for n in (9, 6)], None,
      *[codes(8, type=np.int8) for _ in range(2)], None, SCALE, SCALE, None, SCALE, SCALE,
      np.int8(1), np.int8(-2), None, np.int8(3), np.int8(0)], 2, {"epsilon": 1e-3}),
    ("heads", "MultiHeadAttention", [X, floats(2, 7, 8), floats(2, 7, 8)], 1, {"num_heads": 2}),
    ("heads_bias", "MultiHeadAttention",
     [X, floats(2, 5, 8), floats(2, 5, 8), floats(24), MASK], 1, {"num_heads": 2}),
    ("heads_cross", "MultiHeadAttention", [X, floats(2, 2, 7, 4), floats(2, 2, 7, 4)], 1,
     {"num_heads": 2}),
    ("heads_values", "MultiHeadAttention", [X, floats(2, 7, 8), floats(2, 7, 12)], 1,
     {"num_heads": 2, "scale": 0.4}),
    ("heads_past", "MultiHeadAttention",
     [X, floats(2, 5, 8), floats(2, 5, 8), None, None, floats(2, 2, 5, 8), floats(2, 2, 3, 4),
      floats(2, 2, 3, 4)], 3, {"num_heads": 2}),
    ("heads_causal", "MultiHeadAttention", [X, floats(2, 5, 8), floats(2, 5, 8)], 1,
     {"num_heads": 2, "unidirectional": 1}),
    ("rotary", "RotaryEmbedding",
     [X, IDS.astype(np.int64), floats(9, 2), floats(9, 2)], 1, {}),
    ("rotary_from", "RotaryEmbedding",
     [floats(2, 2, 5, 4), np.array([3], np.int64), floats(9, 2), floats(9, 2)], 1,
     {"interleaved": 1}),
    ("bias_split_gelu", "BiasSplitGelu", [X, BIAS], 1, {},
     [(X + BIAS)[..., :4] * gelu((X + BIAS)[..., 4:])]),
    ("bias_add", "BiasAdd", [X, BIAS, X[::-1].copy()], 1, {}, [X + BIAS + X[::-1]]),
    ("nhwc_conv", "NhwcConv", [NHWC, FILTERS], 1,
     {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}, [convolve(NHWC, FILTERS)]),
    ("group_norm", "GroupNorm", [NHWC, floats(6), floats(6)], 1,
     {"groups": 2, "activation": 1, "channels_last": 1}, None),
    ("skip_group_norm", "SkipGroupNorm", [NHWC, floats(6), floats(6), floats(2, 6)], 2,
     {"groups": 2, "activation": 0, "channels_last": 1}, None),
]


def expected(case):
    name, _, inputs, *_ = case
    if name == "group_norm":
        return [group_norm(*inputs, silu=True)]
    if name == "skip_group_norm":
        x = inputs[0] + inputs[3][:, None, None]
        return [group_norm(x, *inputs[1:3], silu=False), x]
    return case[5]


def check(case, work):
    name, operator, inputs, outputs, attributes = case[:5]
    named = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    # Statistics are no results here.
    if outputs == 4:
        results[1] = results[2] = ""
    node = helper.make_node(operator.lstrip(":"), names, results, name=name,
                            domain="" if operator[0] == ":" else "com.microsoft", **attributes)
    # Weights are constants, as in models; what else is two-dimensional or more, an input.
    weights = [k for k, x in named.items() if x.ndim == 0 or x.ndim == 1 and x.dtype != np.int32]
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for k, x in named.items() if k not in weights],
        [helper.make_tensor_value_info(y, TensorProto.INT32 if "Embed" in operator
                                       and y == "y1" else TensorProto.FLOAT, None)
         for y in results if y],
        [onnx.numpy_helper.from_array(named[k], k) for k in weights])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    path = work / f"{name}.onnx"
    onnx.save(model, path)
    data = {k: x for k, x in named.items() if k not in weights}
    if len(case) > 5:
        reference = expected(case)
    else:
        reference = onnxruntime.InferenceSession(str(path)).run(None, data)
    np.savez(work / f"{name}.in.npz", **data)
    np.savez(work / f"{name}.out.npz",
             **{k: np.array(x, order="C", dtype=None if x.dtype != np.float64 else np.float32)
                for k, x in zip([y for y in results if y], reference)})
    for command in (["fritc", "-march=x86-64-v3", path, "-o", work / f"{name}.so"],
                    ["frit-run", work / f"{name}.so", f"--input=@{work}/{name}.in.npz",
                     f"--compare={work}/{name}.out.npz", "--rtol=1e-4", "--atol=1e-5"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(name, done.stdout + done.stderr)
            return False
    return True


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    cases = [case for case in CASES if re.search(only, case[0])]
    failed = sum(not check(case, work) for case in cases)
    print(f"{len(cases)} operators: {f'{failed} failed' if failed else 'all agree'}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
