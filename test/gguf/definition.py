"""The numbers of GGUF's types, from their description (ggml's docs and
ggml-common.h), in NumPy: blocks are rows of bytes."""
import numpy as np

#: Number, weights and bytes of a block, by name.
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18),
         "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
         "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
         "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18), "MXFP4": (39, 32, 17)}

IQ4_NL = np.array([-127, -104, -83, -65, -49, -35, -22, -10,
                   1, 13, 25, 38, 53, 69, 89, 113], np.float32)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def half(blocks, at):
    """The f16 at a byte of each block, as a column of f32."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(np.float32)


def nibbles(part):
    """Low bits of all bytes, then high ones."""
    return np.concatenate([part & 15, part >> 4], 1).astype(np.float32)


def fifth_bits(part):
    return np.unpackbits(part, axis=1, bitorder="little").astype(np.float32) * 16


def scales_and_minima(part):
    """Eight of each, of 6 bits. The first four have bytes 0-3 and 4-7; the others
    have four bits in bytes 8-11 and two at the top of the first bytes."""
    a, b, c = part[:, :4], part[:, 4:8], part[:, 8:]
    scales = np.concatenate([a & 63, (c & 15) | (a >> 6 << 4)], 1)
    minima = np.concatenate([b & 63, (c >> 4) | (b >> 6 << 4)], 1)
    return scales.astype(np.float32)[..., None], minima.astype(np.float32)[..., None]


def k_blocks(blocks, low, high=None):
    d, least = half(blocks, 0)[..., None], half(blocks, 2)[..., None]
    scales, minima = scales_and_minima(blocks[:, 4:16])
    parts = blocks[:, low:low + 128].reshape(-1, 4, 1, 32)
    q = (parts >> np.array([0, 4], np.uint8)[:, None] & 15).reshape(-1, 8, 32)
    if high:
        bits = blocks[:, high:high + 32].reshape(-1, 1, 32)
        q = q | (bits >> np.arange(8, dtype=np.uint8)[:, None] & 1) << 4
    return (d * scales * q - least * minima).reshape(len(blocks), 256)


def q6_k(blocks):
    low = blocks[:, :128].reshape(-1, 2, 1, 64)
    low = (low >> np.array([0, 4], np.uint8)[:, None] & 15).reshape(-1, 256)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    high = (high >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3).reshape(-1, 256)
    q = (low | high << 4).astype(np.float32) - 32
    scales = blocks[:, 192:208].view(np.int8).astype(np.float32).repeat(16, 1)
    return half(blocks, 208) * scales * q


def numbers(name: str, data: bytes) -> np.ndarray:
    """The numbers of whole blocks, as f32."""
    _, weights, size = TYPES[name]
    b = np.frombuffer(data, np.uint8).reshape(-1, size)
    with np.errstate(over="ignore"):
        values = {
            "F32": lambda: np.frombuffer(data, np.float32),
            "F16": lambda: half(b, 0),
            "BF16": lambda: (np.frombuffer(data, np.uint16).astype(np.uint32) << 16)
            .view(np.float32),
            "Q4_0": lambda: half(b, 0) * (nibbles(b[:, 2:]) - 8),
            "Q4_1": lambda: half(b, 0) * nibbles(b[:, 4:]) + half(b, 2),
            "Q5_0": lambda: half(b, 0) * (nibbles(b[:, 6:]) + fifth_bits(b[:, 2:6]) - 16),
            "Q5_1": lambda: half(b, 0) * (nibbles(b[:, 8:]) + fifth_bits(b[:, 4:8]))
            + half(b, 2),
            "Q8_0": lambda: half(b, 0) * b[:, 2:].view(np.int8),
            "Q4_K": lambda: k_blocks(b, 16),
            "Q5_K": lambda: k_blocks(b, 48, 16),
            "Q6_K": lambda: q6_k(b),
            "IQ4_NL": lambda: half(b, 0) * IQ4_NL[nibbles(b[:, 2:]).astype(int)],
            "MXFP4": lambda: np.ldexp(
                E2M1[nibbles(b[:, 1:]).astype(int) & 7]
                * np.where(nibbles(b[:, 1:]).astype(int) & 8, -1, 1), b[:, :1].astype(int) - 127),
        }[name]()
    return np.asarray(values, np.float32).reshape(-1)


def random_blocks(name: str, count: int, rng, scale: float) -> bytes:
    """Blocks of any bits, whose numbers are about as large as `scale`."""
    _, weights, size = TYPES[name]
    if name in ("F32", "F16", "BF16"):
        values = (rng.normal(size=count) * scale).astype(np.float32)
        return (values.astype(np.float16) if name == "F16" else
                values.view(np.uint16)[1::2] if name == "BF16" else values).tobytes()
    blocks = rng.integers(0, 256, (count, size), np.uint8)
    levels = {"Q4_0": 5, "Q4_1": 5, "Q5_0": 9, "Q5_1": 9, "Q8_0": 74, "Q4_K": 240,
              "Q5_K": 480, "Q6_K": 1400, "IQ4_NL": 70}.get(name)

    def put(at, value):
        wide = value * rng.uniform(0.7, 1.3, (count, 1))
        blocks[:, at:at + 2] = wide.astype(np.float16).view(np.uint8)

    if name == "MXFP4":
        blocks[:, 0] = 127 + round(np.log2(scale / 3)) + rng.integers(-1, 2, count)
    else:
        put(208 if name == "Q6_K" else 0, scale / levels)
    if name in ("Q4_1", "Q5_1"):
        put(2, -1.5 * scale)
    if name in ("Q4_K", "Q5_K"):
        put(2, scale / 32)
    return blocks.tobytes()
