"""The numbers of codes of few bits, by the formats' definitions."""
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
BITS = {"int4": 4, "int8": 8, "e2m1": 4, "e4m3": 8}


def random_codes(rng, name, shape):
    codes = rng.integers(0, 1 << BITS[name], shape)
    if name == "e4m3":
        codes[codes & 127 == 127] = 5  # not NaN
    return codes


def numbers_of(name, codes):
    """The numbers of one code per element."""
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


def packed(name, codes):
    """The bytes of rows of codes, the first in the low bits."""
    return (codes if BITS[name] == 8 else codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
