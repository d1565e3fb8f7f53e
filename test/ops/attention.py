# RUN: %python %s
"""Scaled dot-product attention."""
import numpy as np

from harness import case, random, run


def in_ranges(ranges, keys):
    key = np.arange(keys)
    return (key >= ranges[..., :1]) & (key < ranges[..., 1:])


def attention(q, k, v, scale, mask=None, causal=False, hidden=0):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    sharing = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, sharing, axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None and mask.dtype == np.int32:
        mask = in_ranges(mask, k.shape[2])
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores,
                          -np.inf)
    most = scores.max(-1, keepdims=True)
    sees = np.isfinite(most)
    e = np.exp(scores - np.where(sees, most, 0))
    # A query that sees no key gives zeros, or NaN.
    p = e / np.where(sees, e.sum(-1, keepdims=True), 1)
    return np.where(sees, p, hidden) @ v


for dtype in (np.float32, np.float16):
    for heads, groups, queries, keys, size, value in (
            (2, 2, 5, 5, 8, 8), (4, 2, 3, 7, 4, 6), (3, 1, 6, 4, 2, 2)):
        q = random(2, heads, queries, size).astype(dtype)
        k = random(2, groups, keys, size, seed=1).astype(dtype)
        v = random(2, groups, keys, value, seed=2).astype(dtype)
        bias = random(2, 1, 1, keys, seed=3).astype(dtype)
        allowed = random(queries, keys, seed=4) > -1
        allowed[1] = False
        # A sliding window, which begins elsewhere in the second batch.
        last = np.minimum(np.arange(queries) + np.array([[1], [2]]), keys)
        first = np.maximum(np.minimum(last, keys) - 2, 0)
        window = np.stack([first, last], -1)[:, None].astype(np.int32)
        case("range_mask", [window], in_ranges(window, keys),
             f"keys = {keys} : i64")
        for scale, mask, causal in ((1, None, False), (0.5, None, True),
                                    (0.3, bias, False), (0.3, bias, True),
                                    (1, allowed, False), (1, window, False),
                                    (1, window[:1], False)):
            flags = f"scale = {scale:.1f} : f32" + (", causal" if causal else "")
            operands = [q, k, v] if mask is None else [q, k, v, mask]
            y = attention(q, k, v, scale, mask, causal).astype(dtype)
            tolerance = 1e-2 if dtype == np.float16 else None
            case("attention", operands, y, flags, tolerance)
        # Query 1 sees no key, or all by the lowest number.
        for low, hidden in ((-np.inf, 0), (-np.inf, np.nan),
                            (np.finfo(np.float32).min, 0)):
            mask = np.where(allowed, 0.25, low).astype(np.float32)
            flags = "scale = 0.5 : f32" + (", unguarded" * (hidden != 0))
            y = attention(q, k, v, 0.5, mask, hidden=hidden).astype(dtype)
            tolerance = 1e-2 if dtype == np.float16 else None
            case("attention", [q, k, v, mask], y, flags, tolerance)
            if np.isinf(low):
                y = attention(q, k, v, 0.5, allowed, hidden=hidden)
                case("attention", [q, k, v, allowed], y.astype(dtype), flags,
                     tolerance)
run()
