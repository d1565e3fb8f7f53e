"""Holds frit_sample to the definitions of its filters: filters.py"""
import ctypes
from pathlib import Path

import frit
import numpy as np
from frit._sampling import Sampling


def sample(library, logits, tokens=(), **options):
    """The status of frit_sample, and the token that it chose."""
    sampling, token = Sampling(**options), ctypes.c_int32(-1)
    changed, given = np.array(logits, np.float32), np.array(tokens, np.int32)
    status = library.frit_sample(ctypes.byref(sampling), changed.ctypes.data_as(ctypes.c_void_p),
                                 changed.size, given.ctypes.data_as(ctypes.c_void_p), given.size,
                                 ctypes.byref(token))
    return status, token.value


def filtered(logits, tokens, temperature, repetition_penalty=1, top_k=0, top_p=1, min_p=0):
    """The probabilities by transformers' logits processors, in their order."""
    x = logits.astype(np.float64)
    seen = list(set(tokens))
    x[seen] = np.where(x[seen] < 0, x[seen] * repetition_penalty, x[seen] / repetition_penalty)
    x /= temperature
    if top_k:
        x[x < np.sort(x)[-top_k]] = -np.inf
    order = np.argsort(x, kind="stable")
    share = np.exp(x[order] - x.max())
    out = np.cumsum(share / share.sum()) <= 1 - top_p
    out[-1] = False
    x[order[out]] = -np.inf
    shares = np.exp(x - x.max())
    shares[shares < min_p] = 0
    return shares / shares.sum()


def check_filters(count=1000):
    """frit_sample chooses tokens as often as their probabilities say."""
    library = ctypes.CDLL(Path(frit.__file__).parent / "libfrit.so")
    rng = np.random.default_rng(3)
    for case in range(40):
        logits = rng.normal(size=40).astype(np.float32) * 2
        tokens = rng.integers(0, 40, case % 9).tolist()
        options = dict(temperature=float(rng.uniform(0.3, 2)))
        for name, value in (("repetition_penalty", rng.uniform(0.5, 2)),
                            ("top_k", int(rng.integers(1, 41))), ("top_p", rng.uniform(0.05, 1)),
                            ("min_p", rng.uniform(0, 0.4))):
            if rng.random() < 0.6:
                options[name] = value
        expected = filtered(logits, tokens, **options)
        got = np.bincount([sample(library, logits, tokens, seed=seed, **options)[1]
                           for seed in range(count)], minlength=40) / count
        assert not got[expected == 0].any(), (options, got[expected == 0])
        spread = np.sqrt(expected * (1 - expected) / count)
        assert (np.abs(got - expected) <= 5 * spread + 1 / count).all(), options
    # By an infinite temperature a forbidden token would have the weight inf / inf.
    logits = np.full(5, -np.inf)
    logits[3] = 1
    for options in (dict(temperature=np.inf), dict(temperature=1, repetition_penalty=np.inf)):
        status, token = sample(library, logits, **options)
        assert status != 0 and token == -1, (options, token)
    assert sample(library, logits, temperature=1) == (0, 3)
    print("ok filters")


if __name__ == "__main__":
    check_filters()
