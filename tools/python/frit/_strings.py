"""Tensors of strings: NumPy's arrays of text, and arrays of frit_string."""
from __future__ import annotations

import ctypes

import numpy as np

from ._errors import ArgumentError

#: frit_dtype of strings.
STRING = 24
#: A frit_string.
ELEMENT = np.dtype([("data", np.uintp), ("size", np.uintp)])
#: Kinds of NumPy's types that may hold text: str_, bytes_, object, StringDType.
KINDS = "USOT"


def _encoded(value: object) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"no string of Unicode: {value!r:.80}") from None
    if isinstance(value, bytes):
        return value
    raise ArgumentError("an array of objects must hold strings, not "
                        f"{type(value).__name__}: {value!r:.80}")


def elements_of(array: np.ndarray) -> tuple[np.ndarray, object]:
    """The array of frit_string for an array of text, and the memory that it
    points into."""
    texts = [_encoded(value) for value in array.ravel().tolist()]
    memory = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    made = np.zeros(len(texts), ELEMENT)
    made["size"] = [len(text) for text in texts]
    made["data"] = memory.ctypes.data + np.cumsum(made["size"]) - made["size"]
    return made.reshape(array.shape), memory


def texts_of(array: np.ndarray) -> np.ndarray:
    """The strings of an output, which live until the context's next call."""
    made = np.empty(array.shape, object)
    flat = made.reshape(-1)
    for i, (data, size) in enumerate(array.reshape(-1).tolist()):
        flat[i] = ctypes.string_at(data, size).decode(errors="replace")
    return flat.reshape(array.shape)
