"""How the next token is chosen: the options of `decode`, `verify` and `generate`."""
from __future__ import annotations

import ctypes
import math
import operator
from ctypes import POINTER, c_float, c_uint32, c_uint64
from typing import Any

import numpy as np

from ._errors import ArgumentError


class Sampling(ctypes.Structure):
    """A frit_sampling. It points into `bias_array`."""
    _fields_ = [("temperature", c_float), ("top_k", c_uint32), ("top_p", c_float),
                ("min_p", c_float), ("repetition_penalty", c_float), ("seed", c_uint64),
                ("bias", POINTER(c_float)), ("log_probabilities", POINTER(c_float))]
    bias_array: np.ndarray | None = None

    @property
    def is_greedy(self) -> bool:
        """Whether the device chooses."""
        return (self.temperature == 0 and self.bias_array is None
                and self.repetition_penalty in (0, 1))


#: Options that are numbers.
_NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty")
_OPTIONS = (*_NUMBERS, "top_k", "seed", "bias")


def integer(value: Any, name: str, least: int | None = None) -> int:
    """An argument that is an integer, of NumPy's or PyTorch's too."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is an integer, not {value!r:.80}") from None
    if least is not None and number < least:
        raise ArgumentError(f"{name} is at least {least}, not {number}")
    return number


def _number(value: Any, name: str) -> float:
    try:
        return float(value if not isinstance(value, str) else None)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"{name} is a number, not {value!r:.80}") from None


def _bias(value: Any, vocabulary: int) -> np.ndarray:
    try:
        if np.iscomplexobj(value):
            raise TypeError
        bias = np.ascontiguousarray(value, np.float32)
    except (TypeError, ValueError):
        raise ArgumentError(f"a bias has a number for each of {vocabulary} tokens, "
                            f"not {value!r:.80}") from None
    if bias.shape != (vocabulary,):
        raise ArgumentError(f"a bias has a number for each of {vocabulary} tokens, "
                            f"not the shape {bias.shape}")
    return bias


def read_sampling(options: dict[str, Any], vocabulary: int) -> Sampling:
    """The options as the runtime takes them. None is an option's default."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"there is no option '{name}' of sampling; there are "
                            f"{', '.join(_OPTIONS)} and logprobs")
    given = {name: value for name, value in options.items() if value is not None}
    sampling = Sampling()
    for name in _NUMBERS:
        number = _number(given.get(name, 0), name)
        if math.isinf(c_float(number).value):
            raise ArgumentError(f"{name} is finite, not {number}")
        setattr(sampling, name, number)
    # The runtime's integers have 32 bits; more tokens than there are is all of them.
    sampling.top_k = min(integer(given.get("top_k", 0), "top_k", 0), vocabulary)
    sampling.seed = integer(given.get("seed", 0), "seed") % 2**64
    if "bias" in given:
        sampling.bias_array = _bias(given["bias"], vocabulary)
        sampling.bias = sampling.bias_array.ctypes.data_as(POINTER(c_float))
    return sampling
