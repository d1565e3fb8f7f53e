"""Language models from the folders of Hugging Face: `from_pretrained`."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ._compile import compile
from ._errors import ArgumentError
from ._module import Module
from ._texts import stream


def _read_ends(folder: Path) -> list[int]:
    """The tokens that end a text, of generation_config.json, genai_config.json or
    config.json."""
    for name in ("generation_config.json", "genai_config.json", "config.json"):
        try:
            config = json.loads((folder / name).read_text(encoding="utf-8"))
            config = config.get("model") if name == "genai_config.json" else config
            ends = config.get("eos_token_id")
        except (OSError, ValueError, AttributeError, RecursionError):
            continue
        ends = ends if isinstance(ends, list) else [ends]
        if ends and all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
            return ends
    return []


def _read_sampling(folder: Path) -> dict[str, Any]:
    """How tokens are chosen by "search" of genai_config.json, as options of `generate`."""
    path = folder / "genai_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        search = dict(config.get("search") or {})
    except (OSError, ValueError, AttributeError, RecursionError, TypeError):
        return {}
    # What is left out is as onnxruntime-genai has it.
    given = {"temperature": 1.0, "top_k": 50, "top_p": 0.0, "repetition_penalty": 1.0} | {
        name: value for name, value in search.items() if value is not None}
    for name, least, most in (("temperature", 0, 1e30), ("top_k", 0, 1e30),
                              ("top_p", 0, 1), ("repetition_penalty", 1e-30, 1e30)):
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (
                least <= value <= most) or (name == "top_k" and value != int(value)):
            raise ArgumentError(f"{path}: search.{name} is {value!r:.80}, which is no number of "
                                f"at least {least}" + (f" and at most {most}" if most == 1 else ""))
    sampling = {"repetition_penalty": given["repetition_penalty"]}
    if search.get("do_sample") is True and given["top_k"] != 1 and given["temperature"]:
        sampling |= {"temperature": given["temperature"], "top_k": int(given["top_k"]),
                     "top_p": given["top_p"]}
    return sampling


def _read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder; None if it has none, or the package `tokenizers` is missing."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises no other class
        raise ArgumentError(f"{path}: {error}") from error


class LanguageModel:
    """A compiled language model, its tokenizer and the tokens that end a text.

    Attributes:
      module: the `Module`, for sessions.
      tokenizer: a `tokenizers.Tokenizer`; None if the folder has no tokenizer.json or the
        package is not installed.
      ends: tokens that end a text.
      sampling: options of `generate` that it takes unless they are given, or another
        temperature is: those of genai_config.json.
    """

    def __init__(self, module: Module, tokenizer: Any, ends: list[int],
                 sampling: dict[str, Any] | None = None):
        self.module, self.tokenizer, self.ends = module, tokenizer, ends
        self.sampling = sampling or {}

    def generate(self, prompt: str | Sequence[int], max_new_tokens: int | None = None,
                 **options: Any) -> Iterator[Any]:
        """Yields what follows: parts of text after a text, tokens after tokens.

        Args:
          prompt: a text, or tokens.
          max_new_tokens, options: as for `Module.generate`. After a text `stop` may also have
            texts that end what follows and are not yielded. Without tokens in it, the tokens
            that end a text do.
        """
        ends, texts = self._read_stop(options.pop("stop", None), isinstance(prompt, str))
        options = self._with_defaults(options)
        if not isinstance(prompt, str):
            return self.module.generate(prompt, max_new_tokens, ends, **options)
        if self.tokenizer is None:
            raise ArgumentError("a text needs tokenizer.json in the model's folder, and the package "
                                "of Python `tokenizers`; tokens need neither")
        if options.get("logprobs"):
            raise ArgumentError("log probabilities are those of tokens: they follow a prompt of "
                                "tokens, not a text")
        ids = self.tokenizer.encode(prompt).ids
        known = self.module.info.outputs[0].dims[-1]
        if max(ids, default=0) >= known:
            raise ArgumentError(f"the tokenizer gives token {max(ids)}, and the model knows "
                                f"{known}: it is the tokenizer of another model")
        return stream(self.tokenizer, ids,
                      self.module.generate(ids, max_new_tokens, ends, **options), texts)

    def _with_defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, and those of the folder that are not given."""
        given = {name: value for name, value in options.items() if value is not None}
        defaults = dict(self.sampling)
        if given.get("temperature") == 0:  # filters belong to another way of choosing
            defaults = {name: value for name, value in defaults.items()
                        if name == "repetition_penalty"}
        return {**options, **defaults, **given}

    def _read_stop(self, stop: Any, is_text: bool) -> tuple[Any, list[str]]:
        """The tokens that end what is generated, and the texts."""
        if stop is None:
            return self.ends, []
        given = list(stop) if isinstance(stop, Iterable) and not isinstance(stop, str) else [stop]
        texts = [end for end in given if isinstance(end, str)] if is_text else []
        if "" in texts:
            raise ArgumentError("a text that ends another one is not empty")
        ends = [end for end in given if not (is_text and isinstance(end, str))]
        return ends or (self.ends if texts else []), texts


def from_pretrained(folder: str | os.PathLike, output: str | os.PathLike | None = None,
                    *, options: Sequence[str] = (), **compile_options: Any) -> LanguageModel:
    """Compiles a folder of Hugging Face and opens it.

        model = frit.from_pretrained("SmolLM2-135M-Instruct", options=["--context=2048"])
        print(*model.generate("The capital of France is", 32), sep="")

    Args:
      folder: config.json, safetensors and, for texts, tokenizer.json; or one of
        onnxruntime-genai, with genai_config.json and an ONNX file.
      output, options, compile_options: as for `compile`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ArgumentError(f"{folder}: is no folder; from_pretrained takes one of Hugging Face, "
                            "which `huggingface-cli download` fetches")
    tokenizer, sampling = _read_tokenizer(folder), _read_sampling(folder)
    module = compile(folder, output, options=options, **compile_options)
    return LanguageModel(module, tokenizer, _read_ends(folder), sampling)
