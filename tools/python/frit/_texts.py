"""Texts of tokens that come one by one, up to the texts that end them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: What an incomplete character is decoded to.
_UNKNOWN = "\ufffd"


def _decoded(tokenizer: Any, prompt: Sequence[int], tokens: Iterable[int]) -> Iterator[str]:
    """Yields what each token adds to the text: nothing until a character is whole."""
    # What a token is decoded to may depend on those before: the space before a word is left
    # out where a text begins. Later the last few are enough.
    last = list(prompt)
    shown = tokenizer.decode(last)
    fresh = 0
    for token in tokens:
        last.append(token)
        fresh += 1
        text = tokenizer.decode(last)
        if len(text) > len(shown) and not text.endswith(_UNKNOWN):
            yield text[len(shown):]
            last = last[-fresh:]
            shown, fresh = tokenizer.decode(last), 0
    text = tokenizer.decode(last)
    if len(text) > len(shown):
        yield text[len(shown):]


def _held(text: str, ends: Sequence[str]) -> int:
    """How many of the last characters may begin one of the ends."""
    return max((size for end in ends for size in range(1, min(len(end), len(text) + 1))
                if text.endswith(end[:size])), default=0)


def stream(tokenizer: Any, prompt: Sequence[int], tokens: Iterable[int],
           ends: Sequence[str] = ()) -> Iterator[str]:
    """Yields parts of the text that tokens continue a prompt by, up to the first of `ends`.

    Args:
      tokenizer: of the package `tokenizers`.
      prompt: the tokens before.
      tokens: those that follow; none is asked for after an end.
      ends: texts that end it and are not yielded.
    """
    held = ""
    for part in _decoded(tokenizer, prompt, tokens):
        held += part
        found = [at for at in map(held.find, ends) if at >= 0]
        if found:
            if min(found):
                yield held[:min(found)]
            return
        size = len(held) - _held(held, ends)
        if size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held
