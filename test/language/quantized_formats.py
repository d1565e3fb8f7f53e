"""Quantised matrices as Hugging Face's folders have them: random tensors of each format, and the
numbers that they stand for, outputs × inputs, as the formats' descriptions say."""
import numpy as np

import folders


def words(rng, *shape):
    return rng.integers(-1 << 31, 1 << 31, shape, dtype=np.int64).astype(np.int32)


def scales(rng, bits, *shape):
    """Scales that make weights of about 0.2."""
    return (rng.uniform(0.5, 1.0, shape) * 0.6 / (1 << bits)).astype(np.float16)


def unpack(packed, bits, axis):
    """The codes of words along an axis, the first in the lowest bits."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    codes = packed.view(np.uint32)[..., None] >> shifts & np.uint32((1 << bits) - 1)
    codes = np.moveaxis(codes, -1, axis + 1)
    shape = list(packed.shape)
    shape[axis] *= len(shifts)
    return codes.reshape(shape).astype(np.int64)


def widen(bf16):
    return (bf16.astype(np.uint32) << 16).view(np.float32)


def e4m3(codes):
    """Sign, 4 bits of exponent, 3 of mantissa."""
    size, exponent = (codes & 7).astype(np.float32), (codes >> 3 & 15).astype(np.int32)
    size = np.where(exponent, np.ldexp(1 + size / 8, exponent - 7), np.ldexp(size, -9))
    return np.where(codes >> 7, -size, size).astype(np.float32)


# ===----------------------------------------------------------------------=== #
# GPTQ and AWQ
# ===----------------------------------------------------------------------=== #


def gptq(rng, rows, columns, bits=4, group=32, version=1, shuffled=False, symmetric=False):
    group = columns if group == -1 else group
    count = -(-columns // group)
    order = np.arange(columns) // group
    if shuffled:
        order = rng.permutation(order)
    zeros = words(rng, count, rows * bits // 32)
    if symmetric:
        each = sum(((1 << bits - 1) - 1) << shift for shift in range(0, 32, bits))
        zeros = np.full_like(zeros, np.array(each, np.uint32).view(np.int32))
    made = {"qweight": words(rng, columns * bits // 32, rows), "qzeros": zeros,
            "scales": scales(rng, bits, count, rows), "g_idx": order.astype(np.int32),
            "bias": np.zeros(rows, np.float16)}
    if version == 1:  # a 1 is added to the codes of each word
        ones = np.uint32(sum(1 << shift for shift in range(0, 32, bits)))
        zeros = (zeros.view(np.uint32) + ones).view(np.int32)
    codes, zeros = unpack(made["qweight"], bits, 0), unpack(zeros, bits, 1)
    numbers = made["scales"].astype(np.float32)[order] * (codes - zeros[order])
    return made, numbers.T


def awq(rng, rows, columns, group=32):
    count = columns // group
    made = {"qweight": words(rng, columns, rows // 8), "qzeros": words(rng, count, rows // 8),
            "scales": scales(rng, 4, count, rows)}
    # Where the codes of 8 neighbours lie in a word.
    nibble = (np.arange(rows) // 8 * 8).reshape(-1, 8) + [0, 4, 1, 5, 2, 6, 3, 7]
    codes = unpack(made["qweight"], 4, 1)[:, nibble.ravel()]
    zeros = unpack(made["qzeros"], 4, 1)[:, nibble.ravel()]
    numbers = (codes - np.repeat(zeros, group, 0)) * np.repeat(made["scales"], group, 0).astype(
        np.float32)
    return made, numbers.T


# ===----------------------------------------------------------------------=== #
# compressed-tensors
# ===----------------------------------------------------------------------=== #


def packed(rng, rows, columns, bits=4, group=32, zeros=None, shuffled=False):
    """zeros: None, "packed" in words of rows, or "bytes"."""
    group = columns if group == -1 else group
    count = columns // group
    order = np.arange(columns) // group
    each = 32 // bits
    made = {"weight_packed": words(rng, rows, -(-columns // each)),
            "weight_scale": folders.narrow(scales(rng, bits, rows, count)),
            "weight_shape": np.array([rows, columns])}
    if shuffled:
        order = rng.permutation(order)
        made["weight_g_idx"] = order.astype(np.int32)
    middle = 1 << bits - 1
    zero = np.zeros((rows, count))
    if zeros == "packed":
        made["weight_zero_point"] = words(rng, -(-rows // each), count)
        zero = unpack(made["weight_zero_point"], bits, 0)[:rows] - middle
    elif zeros == "bytes":
        made["weight_zero_point"] = rng.integers(-middle, middle, (rows, count)).astype(np.int8)
        zero = made["weight_zero_point"].astype(np.int64)
    codes = unpack(made["weight_packed"], bits, 1)[:, :columns] - middle
    return made, widen(made["weight_scale"])[:, order] * (codes - zero[:, order])


def integers(rng, rows, columns, zeros=False):
    """One scale a row, and bytes that are not packed."""
    made = {"weight": rng.integers(-128, 128, (rows, columns)).astype(np.int8),
            "weight_scale": scales(rng, 8, rows, 1).astype(np.float32) * 1.1}
    zero = 0
    if zeros:
        made["weight_zero_point"] = rng.integers(-9, 9, (rows, 1)).astype(np.int8)
        zero = made["weight_zero_point"].astype(np.int64)
    return made, (made["weight"].astype(np.int64) - zero) * made["weight_scale"]


# ===----------------------------------------------------------------------=== #
# Floats of 8 bits
# ===----------------------------------------------------------------------=== #


def floats(rng, rows, columns, by="blocks", scale="weight_scale_inv", type=np.float32, size=128):
    """Scales of blocks, rows, or of the whole matrix."""
    codes = rng.integers(0, 256, (rows, columns)).astype(np.uint8)
    codes[codes & 127 == 127] = 0x38  # 1 instead of what is no number
    codes = np.where(codes & 0x40, codes & 0xc7, codes).astype(np.uint8)  # below 4
    shape = {"blocks": (-(-rows // size), -(-columns // size)), "rows": (rows, 1),
             "list": (rows,), "one": (1,), "scalar": ()}[by]
    factor = np.asarray(rng.uniform(0.1, 0.3, shape), type)
    made = {"weight": codes, scale: factor, "input_scale": np.ones(1, np.float32)}
    factor = factor.astype(np.float32)
    if by == "blocks":
        factor = np.repeat(np.repeat(factor, size, 0)[:rows], size, 1)[:, :columns]
    elif by == "list":
        factor = factor[:, None]
    return made, e4m3(codes) * factor
