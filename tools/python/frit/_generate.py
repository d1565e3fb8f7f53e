"""Text by compiled language models: sessions and generation."""
from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Iterator, Sequence
from ctypes import POINTER, c_float, c_int32, c_uint32, c_uint64
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi
from ._abi import lib
from ._errors import ArgumentError

if TYPE_CHECKING:
    from ._module import Module

#: Tokens that the device chooses before the host looks at them.
_AHEAD = 8


class _Sampling(ctypes.Structure):
    _fields_ = [("temperature", c_float), ("top_k", c_uint32), ("top_p", c_float),
                ("min_p", c_float), ("repetition_penalty", c_float), ("seed", c_uint64),
                ("bias", POINTER(c_float))]


class Session:
    """Sequences of tokens that a language model extends, with caches of their own.

    For an artifact that `compile` made of the folder or file of a language model.
    One thread at a time uses a session.

    >>> import frit
    >>> session = frit.Session(frit.load("tiny.so"))   # doctest: +SKIP
    >>> session.prefill([5, 7, 9])                     # doctest: +SKIP
    >>> session.decode(4)                              # doctest: +SKIP
    array([[33, 19, 24, 48]], dtype=int32)
    """

    def __init__(self, module: Module, *, _handle: int | None = None):
        self._module = module
        self._handle = _handle or _abi.opened(lib.frit_session_create,
                                              module._caller.open_handle())
        self._finalizer = weakref.finalize(self, lib.frit_session_destroy, self._handle)

    def close(self) -> None:
        """Frees the caches."""
        self._finalizer()

    def __enter__(self) -> Session:
        self._open()
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _open(self) -> int:
        if not self._finalizer.alive:
            raise ArgumentError("the session is closed")
        return self._handle

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return lib.frit_session_batch(self._open())

    @property
    def capacity(self) -> int:
        """Tokens that a sequence may have."""
        return lib.frit_session_capacity(self._open())

    @property
    def vocabulary(self) -> int:
        """Number of tokens that there are."""
        return lib.frit_session_vocabulary(self._open())

    def length(self, sequence: int = 0) -> int:
        """Tokens in the caches of a sequence."""
        return lib.frit_session_length(self._open(), sequence)

    def prefill(self, tokens: Sequence[int], sequence: int = 0) -> np.ndarray:
        """Appends tokens to a sequence. Returns the logits after the last one."""
        given = np.asarray(tokens)
        if given.size == 0:
            given = given.astype(np.int32)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ArgumentError("tokens are integers in a list or an array of one dimension")
        if given.size and (given.min() < -2**31 or given.max() >= 2**31):
            raise ArgumentError("a token is no 32-bit integer")
        given = np.ascontiguousarray(given, np.int32)
        logits = np.empty(self.vocabulary, np.float32)
        _abi.check(lib.frit_session_prefill(self._open(), sequence, given.ctypes.data,
                                            given.size, logits.ctypes.data))
        return logits

    def decode(self, count: int = 1, *, temperature: float = 0, top_k: int = 0, top_p: float = 0,
               min_p: float = 0, repetition_penalty: float = 0, seed: int = 0,
               bias: Any = None) -> np.ndarray:
        """Chooses the next `count` tokens of every sequence: int32 of batch × count.

        Args:
          temperature: divides the logits; 0 chooses the most likely token.
          top_k: keeps that many tokens of the highest logits.
          top_p: keeps the fewest tokens whose probabilities sum to at least this.
          min_p: keeps tokens of at least this fraction of the highest probability.
          repetition_penalty: divides positive logits of tokens in the sequence, and
            multiplies negative ones.
          seed: equal seeds give equal tokens.
          bias: f32 of the vocabulary, added to the logits first; -inf forbids a token.
        """
        sampling = _Sampling(temperature, top_k, top_p, min_p, repetition_penalty,
                             seed % 2**64)
        if bias is not None:
            bias = np.ascontiguousarray(bias, np.float32)
            if bias.shape != (self.vocabulary,):
                raise ArgumentError(f"a bias has a number for each of {self.vocabulary} tokens, "
                                    f"not the shape {bias.shape}")
            sampling.bias = bias.ctypes.data_as(POINTER(c_float))
        tokens = np.empty((self.batch, count), np.int32)
        _abi.check(lib.frit_session_decode(self._open(), ctypes.byref(sampling),
                                           tokens.ctypes.data, count))
        return tokens

    def rewind(self, length: int, sequence: int = 0) -> None:
        """Forgets the tokens of a sequence from place `length` on."""
        if length < 0:
            raise ArgumentError("a length is not negative")
        _abi.check(lib.frit_session_rewind(self._open(), sequence, length))

    def fork(self) -> Session:
        """Returns a session with the same sequences and caches of its own."""
        return Session(self._module, _handle=_abi.opened(lib.frit_session_fork, self._open()))


def generate(module: Module, tokens: Sequence[int], max_new_tokens: int | None = None,
             stop: Iterable[int] = (), **sampling: Any) -> Iterator[int]:
    """Yields the tokens that follow `tokens`, one by one. See `Module.generate`."""
    with Session(module) as session:
        if session.batch != 1:
            raise ArgumentError(f"the model is compiled for {session.batch} sequences at a time; "
                                "frit.Session extends them")
        session.prefill(tokens)
        ends = {*stop}
        # The last token is chosen, but needs no room.
        left = session.capacity - session.length() + 1
        if max_new_tokens is not None:
            left = min(left, max_new_tokens)
        ahead = 1
        while left > 0:
            # The first token is shown at once.
            for token in session.decode(min(ahead, left), **sampling)[0].tolist():
                if token in ends:
                    return
                yield token
            left -= min(ahead, left)
            ahead = _AHEAD if not any(sampling.values()) else 1
