# RUN: %python %s
"""Codes of few bits."""
import numpy as np

from codes import numbers_of, packed, random_codes
from harness import case, run

def tiled(codes, scales):
    """Codes and factors in the order of Quantized.h."""
    rows, size = codes.shape
    codes = codes.reshape(rows // 16, 2, 8, size // 32, 2, 4, 4).transpose(0, 3, 2, 5, 1, 4, 6)
    factors = [x.reshape(rows // 16, 2, 8, -1).transpose(0, 3, 2, 1).reshape(rows // 16, -1, 16)
               for x in scales]
    return codes.reshape(rows // 16, size // 32, 512), factors


def dequantize_case(name, rows, columns, block, to, offsets=False, tiles=False, scale="f4"):
    rng = np.random.default_rng(rows + columns)
    codes = random_codes(rng, name, (rows, columns))
    blocks = (rows, columns // block)
    # Powers of two, so that nothing depends on the order of roundings.
    factors = [2.0 ** rng.integers(-6, 3, blocks) * rng.choice([-1, 1], blocks)]
    if offsets:
        factors.append(rng.integers(-9, 9, blocks) / 4)
    factors = [x.astype(scale) for x in factors]
    y = numbers_of(name, codes) * np.repeat(factors[0].astype("f8"), block, 1)
    if offsets:
        y += np.repeat(factors[1].astype("f8"), block, 1)
    stored = packed(name, codes)
    if tiles:
        stored, factors = tiled(stored, factors)
    dtype = {"f32": np.float32, "f16": np.float16}[to]
    case("dequantize", [stored, *factors], y.astype(dtype),
         f'code = "{name}", to = {to}' + ", tiled" * tiles)


def sparse_tiles(kept, places, is_code):
    """Kept numbers and their places, each rows by groups by 2, in the order of Sparse.h."""
    rows, groups = kept.shape[:2]
    tiles, chunks = rows // 16, groups // 32
    if is_code:
        values = kept.reshape(tiles, 2, 8, chunks, 2, 2, 2, 4, 2).transpose(0, 3, 4, 2, 7, 5, 1, 6, 8)
    else:
        values = kept.reshape(tiles, 2, 8, chunks, 4, 2, 4, 2).transpose(0, 3, 4, 2, 6, 5, 1, 7)
    packed = places.reshape(rows, groups // 2, 4)
    packed = sum(packed[..., i].astype(np.uint8) << 2 * i for i in range(4)).astype(np.uint8)
    packed = packed.reshape(tiles, 2, 8, chunks, 2, 2, 2, 2).transpose(0, 3, 2, 5, 6, 4, 1, 7)
    values = values.astype(np.uint8) if is_code else values
    return values.reshape(tiles, chunks, 1024), packed.reshape(tiles, chunks, 256)


def decompress_case(rows, columns, code=None, to="f32"):
    rng = np.random.default_rng(rows + columns)
    groups, dtype = columns // 4, {"f32": np.float32, "f16": np.float16}[to]
    places = np.sort(rng.random((rows, groups, 4)).argsort(-1)[..., :2], -1)
    if code:
        kept = random_codes(rng, code, (rows, groups, 2))
        scales = (2.0 ** rng.integers(-6, 3, rows)).astype("f4")
        numbers, others = numbers_of(code, kept) * scales[:, None, None], [scales]
    else:
        kept = (rng.integers(-64, 64, (rows, groups, 2)) / 16).astype(dtype)
        numbers, others = kept, []
    y = np.zeros((rows, groups, 4))
    np.put_along_axis(y, places, numbers, -1)
    case("decompress", [*sparse_tiles(kept, places, bool(code)), *others],
         y.reshape(rows, columns).astype(dtype),
         f'code = "{code}", to = {to}' if code else f"to = {to}")


decompress_case(16, 128)
decompress_case(32, 384, to="f16")
decompress_case(48, 256, "int8")
decompress_case(16, 256, "e4m3", "f16")
for name in ("int4", "int8", "e2m1", "e4m3"):
    dequantize_case(name, 3, 12, 4, "f32")
    dequantize_case(name, 5, 64, 64, "f16", offsets=True, scale="f2")
    dequantize_case(name, 32, 192, 32, "f32", offsets=True, tiles=True)
dequantize_case("int4", 1, 2, 1, "f32")
dequantize_case("int8", 16, 32, 16, "f16", tiles=True, scale="f2")
run()
