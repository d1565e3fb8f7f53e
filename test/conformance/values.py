"""Types of values, and whether values are equal."""
import numpy as np


def plain_dtype(name):
    """The byte type for integers of fewer bits, whose upper bits NumPy's
    extension types leave open."""
    if name in ("int4", "int2", "uint4", "uint2"):
        return np.dtype(name.rstrip("42") + "8")
    return named_dtype(name)


def plain(array):
    return array.astype(plain_dtype(array.dtype.name))


def named_dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))


def differs(actual, expected, rtol, atol, only_type=False):
    """Returns why an output is wrong, or nothing; compares as
    onnx.backend.test.runner does."""
    expected = np.asarray(expected)
    if expected.dtype.kind == "U":
        expected = expected.astype(object)
    if actual.dtype != expected.dtype:
        return f"wrong type: {actual.dtype} for {expected.dtype}"
    if actual.shape != expected.shape:
        return f"wrong shape: {actual.shape} for {expected.shape}"
    if expected.dtype.kind == "O":
        return None if (actual == expected).all() else "wrong value"
    if only_type or not actual.size:
        return None
    if actual.dtype.name == "bfloat16":
        rtol = max(rtol, 2 ** -6)
    if actual.dtype.kind not in "biu":
        actual, expected = (x.astype(np.float64) for x in (actual, expected))
    if np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
        return None
    return "wrong value"
