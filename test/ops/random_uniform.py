# RUN: %python %s
"""Random numbers, against Philox4x32-10 as its authors publish it."""
import numpy as np

from harness import case, ints, run

MASK = 0xffffffff


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & MASK,
             first >> 32 ^ c[3] ^ k[1], first & MASK]
        k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
    return c


# Known answers of Random123 1.14 (tests/kat_vectors).
for counter, key, answer in (
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((MASK,) * 4, (MASK,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
         (0xa4093822, 0x299f31d0), "d16cfe09 94fdcceb 5001e420 24126ea1")):
    assert philox(counter, key) == [int(w, 16) for w in answer.split()]


def uniform(seed, offset, shape, stream):
    words = []
    key = (seed & MASK, seed >> 32 & MASK)
    for block in range((int(np.prod(shape)) + 3) // 4):
        words += philox((block, stream << 16, offset & MASK,
                         offset >> 32 & MASK), key)
    values = np.array(words[:int(np.prod(shape))], np.uint32) >> 8
    return (values.astype(np.float32) * np.float32(2 ** -24)).reshape(shape)


for seed, offset, shape, stream in (
        (0, 0, (4,), 0), (0, 0, (3, 5, 2), 0), (-1, -1, (4,), 65535),
        (0x299f31d0a4093822, 0x0370734413198a2e, (2, 9), 0x85a3),
        (7, 1, (), 3), (7, 2, (0, 3), 3), (7, 3, (1001,), 3)):
    case("random_uniform", [np.int64(seed), np.int64(offset)],
         uniform(seed, offset, shape, stream),
         f"{ints('shape', shape)}, stream = {stream} : i64", tolerance=1e-30)
many = uniform(1, 2, (10000,), 4)
assert abs(many.mean() - 0.5) < 0.01 and many.min() >= 0 and many.max() < 1
# Outside of training dropout does nothing.
case("dropout", [many], many, "rate = 0.5 : f32", tolerance=1e-30)
run()
