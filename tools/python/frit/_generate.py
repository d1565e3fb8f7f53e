"""Text by compiled language models: sessions and generation."""
from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from ctypes import POINTER, c_float
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _arrays
from ._abi import lib
from ._adapters import read_adapter
from ._calls import Tensors, names_of
from ._errors import ArgumentError, Error
from ._sampling import Sampling, integer, read_sampling

if TYPE_CHECKING:
    from ._module import Module

#: Tokens that the device chooses before the host looks at them.
_AHEAD = 8


def _place(value: Any, name: str) -> int:
    """An unsigned integer of 32 bits, the largest for those that are larger."""
    return min(integer(value, name, 0), 2**32 - 1)


def _tokens(given: Any) -> np.ndarray:
    """Tokens as the runtime takes them."""
    try:
        array = np.asarray(given)
    except ValueError:  # lists of several lengths
        array = np.zeros((0, 0))
    if array.ndim == 1 and array.size == 0:
        return np.zeros(0, np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ArgumentError("tokens are integers in a list or an array of one dimension")
    if array.min() < -2**31 or array.max() >= 2**31:
        raise ArgumentError("a token is no 32-bit integer")
    return np.ascontiguousarray(array, np.int32)


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
        if not hasattr(module, "_caller"):
            raise ArgumentError("a session is of a module, which frit.load or frit.compile "
                                f"returns, not of {module!r:.80}")
        self._module = module
        self._handle = _handle or _abi.opened(lib.frit_session_create,
                                              module._caller.open_handle())
        self._known: list[int] = []  # tokens of a draft
        self._guard = threading.RLock()
        self._finalizer = weakref.finalize(self, lib.frit_session_destroy, self._handle)

    def close(self) -> None:
        """Waits for a call of another thread and frees the caches."""
        with self._guard:
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

    @contextlib.contextmanager
    def _used(self) -> Iterator[int]:
        """The session for a call, which no other thread frees meanwhile."""
        if not self._guard.acquire(blocking=False):
            raise ArgumentError("the session is used by another thread")
        try:
            yield self._open()
        finally:
            self._guard.release()

    def _ask(self, function: Any, *arguments: int) -> int:
        """What a function says of the session, after a call of another thread."""
        with self._guard:
            return function(self._open(), *arguments)

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return self._ask(lib.frit_session_batch)

    @property
    def capacity(self) -> int:
        """Tokens that a sequence may have."""
        return self._ask(lib.frit_session_capacity)

    @property
    def vocabulary(self) -> int:
        """Number of tokens that there are."""
        return self._ask(lib.frit_session_vocabulary)

    def length(self, sequence: int = 0) -> int:
        """Tokens in the caches of a sequence."""
        return self._ask(lib.frit_session_length, _place(sequence, "a sequence"))

    def encode(self, source: Any) -> None:
        """Reads the source of a model with an encoder, and forgets the tokens of all sequences.

        Args:
          source: a list of tokens, one for each sequence if there are several; or of a
            sound its log-mel spectrum, f32 of (batch ×) bins × frames.
        """
        if not isinstance(source, (np.ndarray, list, tuple)):
            raise ArgumentError("a source is a list of tokens, or an array of a sound's spectrum, "
                                f"not {source!r:.80}")
        array = np.asarray(source) if isinstance(source, np.ndarray) else None
        inputs: list[np.ndarray]
        if array is not None and array.dtype.kind == "f":
            inputs = [np.ascontiguousarray(array.reshape((-1, *array.shape[-2:])), np.float32)]
        else:
            is_row = self.batch == 1 and not (len(source) and np.ndim(source[0]))
            rows = [_tokens(row) for row in ([source] if is_row else source)]
            tokens = np.zeros((len(rows), max(map(len, rows), default=0)), np.int32)
            for to, given in zip(tokens, rows):
                to[:len(given)] = given
            inputs = [tokens, np.array([len(row) for row in rows], np.int32)]
        tensors = Tensors([None] * len(inputs),
                          [(_arrays.CODES[str(a.dtype)], a.shape, -1) for a in inputs])
        tensors.point([a.ctypes.data for a in inputs])
        with self._used() as handle:
            _abi.check(lib.frit_session_encode(handle, tensors.array, tensors.count))

    def prefill(self, tokens: Sequence[int] | np.ndarray, sequence: int = 0) -> np.ndarray:
        """Appends tokens to a sequence. Returns the logits after the last one."""
        given = _tokens(tokens)
        logits = np.empty(self.vocabulary, np.float32)
        place = _place(sequence, "a sequence")
        with self._used() as handle:
            _abi.check(lib.frit_session_prefill(handle, place, given.ctypes.data, given.size,
                                                logits.ctypes.data))
        return logits

    def _sampling(self, options: dict[str, Any], logs: np.ndarray | None) -> Sampling:
        sampling = read_sampling(options, self.vocabulary)
        if logs is not None:
            sampling.log_probabilities = logs.ctypes.data_as(POINTER(c_float))
        return sampling

    def decode(self, count: int = 1, *, logprobs: bool = False, **sampling: Any) -> Any:
        """Chooses the next `count` tokens of every sequence: int32 of batch × count.

        Args:
          temperature: divides the logits; 0 chooses the most likely token.
          top_k: keeps that many tokens of the highest logits.
          top_p: keeps the fewest tokens whose probabilities sum to at least this.
          min_p: keeps tokens of at least this fraction of the highest probability.
          repetition_penalty: divides positive logits of tokens in the sequence, and
            multiplies negative ones.
          seed: equal seeds give equal tokens.
          bias: f32 of the vocabulary, added to the logits first; -inf forbids a token. While
            `generate` runs, an array of float32 may be changed after each token, as grammars do.
          logprobs: also returns the tokens' log probabilities, float32 of batch × count: by the
            logits without bias, penalty and temperature.
        """
        count = integer(count, "a number of tokens", 0)
        if count > self.capacity + 1:
            raise ArgumentError(f"{count} tokens do not fit in a cache that holds {self.capacity}")
        tokens = np.empty((self.batch, count), np.int32)
        logs = np.empty(tokens.shape, np.float32)
        chosen = self._sampling(sampling, logs if logprobs else None)
        with self._used() as handle:
            _abi.check(lib.frit_session_decode(handle, ctypes.byref(chosen), tokens.ctypes.data,
                                               count))
        return (tokens, logs) if logprobs else tokens

    @property
    def guesses(self) -> int:
        """Guesses of a sequence that `verify` takes; 0 without `fritc --verify`."""
        return self._ask(lib.frit_session_guesses)

    def verify(self, guesses: Sequence[Sequence[int]], *, logprobs: bool = False,
               **sampling: Any) -> Any:
        """Chooses the tokens that `decode` would choose, several at a time if they are
        guessed: for each sequence at least one and at most one more than its guesses.

        Args:
          guesses: for each sequence the tokens that are expected to come next.
          logprobs: also returns lists of log probabilities.
          sampling: as for `decode`.
        """
        if not isinstance(guesses, (list, tuple, np.ndarray)):
            raise ArgumentError(f"guesses are a list of tokens for each sequence, not {guesses!r:.80}")
        if len(guesses) != self.batch:
            raise ArgumentError(f"guesses are lists of tokens for each of {self.batch} sequences, "
                                f"not {len(guesses)}")
        guessed_rows = [_tokens(guess) for guess in guesses]
        width = max(map(len, guessed_rows))
        given = np.zeros((self.batch, width), np.int32)
        for row, guess in zip(given, guessed_rows):
            row[:len(guess)] = guess
        guessed = np.array([len(guess) for guess in guessed_rows], np.uint32)
        tokens = np.empty((self.batch, width + 1), np.int32)
        made = np.empty(self.batch, np.uint32)
        logs = np.empty(tokens.shape, np.float32)
        chosen = self._sampling(sampling, logs if logprobs else None)
        with self._used() as handle:
            _abi.check(lib.frit_session_verify(
                handle, ctypes.byref(chosen), given.ctypes.data, guessed.ctypes.data, width,
                tokens.ctypes.data, made.ctypes.data))
        rows = [row[:count].tolist() for row, count in zip(tokens, made)]
        return (rows, [row[:count].tolist() for row, count in zip(logs, made)]) if logprobs \
            else rows

    def load_adapter(self, folder: str | os.PathLike | None) -> None:
        """Uses an adapter of low rank (LoRA), as PEFT saves it, in place of the one before;
        None for none. For models compiled with `--lora-rank`. What is in the caches stays
        as it was computed."""
        read = read_adapter(folder) if folder is not None else {}
        tensors = Tensors(names_of([*read]), [(_arrays.CODES["float32"], values.shape, -1)
                                               for values in read.values()])
        values = [np.ascontiguousarray(values, np.float32) for values in read.values()]
        tensors.point([array.ctypes.data for array in values])
        try:
            with self._used() as handle:
                _abi.check(lib.frit_session_adapt(handle, tensors.array, tensors.count, 1))
        except Error as error:
            if folder is None:
                raise
            raise type(error)(f"{folder}: {error}", error.status) from None

    def rewind(self, length: int, sequence: int = 0) -> None:
        """Forgets the tokens of a sequence from place `length` on."""
        place, end = _place(sequence, "a sequence"), _place(length, "a length")
        with self._used() as handle:
            _abi.check(lib.frit_session_rewind(handle, place, end))

    def fork(self) -> Session:
        """Returns a session with the same sequences and caches of its own."""
        with self._used() as handle:
            return Session(self._module, _handle=_abi.opened(lib.frit_session_fork, handle))


def lookup(tokens: Sequence[int], most: int) -> list[int]:
    """Guesses what follows: what followed the last few tokens where they occurred before."""
    given = np.ascontiguousarray(tokens, np.int32)
    guesses = np.empty(max(most, 0), np.int32)
    count = lib.frit_lookup(given.ctypes.data, given.size, guesses.ctypes.data, guesses.size)
    return guesses[:count].tolist()


def _draft(session: Session, tokens: list[int], most: int) -> list[int]:
    """Guesses of a smaller model, whose session keeps what it knows of the sequence."""
    known = session._known
    same = 0
    while same < min(len(known), len(tokens) - 1) and known[same] == tokens[same]:
        same += 1
    most = min(most, session.capacity - len(tokens) + 1)
    if most < 1:
        return []
    session.rewind(min(same, session.length()))
    session.prefill(tokens[session.length():])
    made = session.decode(most)[0].tolist()
    session._known = tokens + made[:-1]
    return made


def _chosen(result: Any, logprobs: bool) -> list[Any]:
    """The tokens of the only sequence, with their log probabilities if there are any."""
    if not logprobs:
        return [int(token) for token in result[0]]
    return [(int(token), float(log)) for token, log in zip(result[0][0], result[1][0])]


def _speculate(session: Session, tokens: list[int], left: int, speculate: Any,
               guesses: int | None, logprobs: bool, sampling: dict[str, Any]) -> Iterator[Any]:
    """Yields tokens that are guessed by a draft model or by lookup."""
    if session.guesses < 1:
        session.verify([[]])  # says how to compile for it
    most = session.guesses if guesses is None else integer(guesses, "a number of guesses", 1)
    if most > session.guesses:
        raise ArgumentError(f"a call of the model takes up to {session.guesses} guesses, not "
                            f"{most}")
    draft = None
    if isinstance(speculate, str) and speculate != "lookup":
        raise ArgumentError(f"guesses are of a module or of \"lookup\", not of {speculate!r:.80}")
    if speculate != "lookup":
        draft = Session(speculate)
        if (draft.batch, draft.vocabulary) != (1, session.vocabulary):
            raise ArgumentError(f"the draft extends {draft.batch} sequences of {draft.vocabulary} "
                                f"tokens, and the model 1 of {session.vocabulary}")
    while left > 0:
        room = min(most, left - 1)
        guess = (_draft(draft, tokens, room) if draft else lookup(tokens, room)) if room else []
        for item in _chosen(session.verify([guess], logprobs=logprobs, **sampling), logprobs):
            tokens.append(item[0] if logprobs else item)
            left -= 1
            yield item


def _decode(session: Session, left: int, logprobs: bool,
            sampling: dict[str, Any]) -> Iterator[Any]:
    """Yields tokens that the device or the host chooses."""
    is_greedy = not logprobs and read_sampling(sampling, session.vocabulary).is_greedy
    ahead = 1
    while left > 0:
        # The first token is shown at once.
        count = min(ahead, left)
        yield from _chosen(session.decode(count, logprobs=logprobs, **sampling), logprobs)
        left -= count
        ahead = _AHEAD if is_greedy else 1


def _read_stop(stop: Any) -> set[int]:
    if stop is None:
        return set()
    try:
        return {integer(end, "a token that ends a text")
                for end in (stop if isinstance(stop, Iterable) else [stop])}
    except ArgumentError as error:
        raise ArgumentError(f"{error}; a text can end what continues a text, as "
                            "frit.from_pretrained does") from None


def generate(module: Module, tokens: Sequence[int] | np.ndarray, max_new_tokens: int | None = None,
             stop: Iterable[int] | int | None = (), speculate: Any = None,
             guesses: int | None = None, adapter: str | os.PathLike | None = None,
             source: Any = None, logprobs: bool = False, **sampling: Any) -> Iterator[Any]:
    """Yields the tokens that follow `tokens`, one by one. See `Module.generate`."""
    if max_new_tokens is not None:
        max_new_tokens = integer(max_new_tokens, "max_new_tokens", 0)
    with Session(module) as session:
        if session.batch != 1:
            raise ArgumentError(f"the model is compiled for {session.batch} sequences at a time; "
                                "frit.Session extends them")
        ends = _read_stop(stop)
        given = _tokens(tokens)
        chosen = read_sampling(sampling, session.vocabulary)  # refuses before anything runs
        if chosen.bias_array is not None:
            sampling["bias"] = chosen.bias_array  # converted once
        if adapter is not None:
            session.load_adapter(adapter)
        if source is not None:
            session.encode(source)
        session.prefill(given)
        # The last token is chosen, but needs no room.
        left = session.capacity - session.length() + 1
        if max_new_tokens is not None:
            left = min(left, max_new_tokens)
        for item in (_decode(session, left, logprobs, sampling) if speculate is None else
                     _speculate(session, given.tolist(), left, speculate, guesses, logprobs,
                                sampling)):
            if (item[0] if logprobs else item) in ends:
                return
            yield item
