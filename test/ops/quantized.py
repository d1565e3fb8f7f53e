# RUN: %python %s
"""Codes of few bits."""
import numpy as np

from harness import case, run

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def numbers_of(name, codes):
    """The numbers of one code per element, by the formats' definitions."""
    codes = codes.astype(np.int32)
    if name == "int4":
        return codes - 8.0
    if name == "int8":
        return codes - 128.0
    if name == "e2m1":
        return np.where(codes & 8, -1.0, 1.0) * E2M1[codes & 7]
    exponent, rest = codes >> 3 & 15, codes & 7
    size = np.where(exponent, (8 + rest) * 2.0 ** (exponent - 10), rest * 2.0 ** -9)
    return np.where(codes & 128, -1.0, 1.0) * size


def tiled(codes, scales):
    """Codes and factors in the order of Quantized.h."""
    rows, size = codes.shape
    codes = codes.reshape(rows // 16, 2, 8, size // 32, 2, 4, 4).transpose(0, 3, 2, 5, 1, 4, 6)
    factors = [x.reshape(rows // 16, 2, 8, -1).transpose(0, 3, 2, 1).reshape(rows // 16, -1, 16)
               for x in scales]
    return codes.reshape(rows // 16, size // 32, 512), factors


def dequantize_case(name, rows, columns, block, to, offsets=False, tiles=False, scale="f4"):
    rng = np.random.default_rng(rows + columns)
    bits = 4 if name in ("int4", "e2m1") else 8
    codes = rng.integers(0, 1 << bits, (rows, columns))
    if name == "e4m3":
        codes[codes & 127 == 127] = 5  # not NaN
    blocks = (rows, columns // block)
    # Powers of two, so that nothing depends on the order of roundings.
    factors = [2.0 ** rng.integers(-6, 3, blocks) * rng.choice([-1, 1], blocks)]
    if offsets:
        factors.append(rng.integers(-9, 9, blocks) / 4)
    factors = [x.astype(scale) for x in factors]
    y = numbers_of(name, codes) * np.repeat(factors[0].astype("f8"), block, 1)
    if offsets:
        y += np.repeat(factors[1].astype("f8"), block, 1)
    packed = codes if bits == 8 else codes[:, ::2] | codes[:, 1::2] << 4
    packed = packed.astype(np.uint8)
    if tiles:
        packed, factors = tiled(packed, factors)
    dtype = {"f32": np.float32, "f16": np.float16}[to]
    case("dequantize", [packed, *factors], y.astype(dtype),
         f'code = "{name}", to = {to}' + ", tiled" * tiles)


for name in ("int4", "int8", "e2m1", "e4m3"):
    dequantize_case(name, 3, 12, 4, "f32")
    dequantize_case(name, 5, 64, 64, "f16", offsets=True, scale="f2")
    dequantize_case(name, 32, 192, 32, "f32", offsets=True, tiles=True)
dequantize_case("int4", 1, 2, 1, "f32")
dequantize_case("int8", 16, 32, 16, "f16", tiles=True, scale="f2")
run()
