"""frit.from_pretrained: tokens, and with the package tokenizers texts: pretrained.py WORK [texts]"""
import json
import sys
from pathlib import Path

import frit
from folders import make
from frit._texts import stream
from reference import Decoder
from sessions import PROMPT, fails

OPTIONS = dict(march="x86-64-v3", device="cpu", options=["--context=40", "-fshape=chunk=1,8"])


def check_tokens(work):
    make(work, "llama")
    folder = work / "llama"
    expected = Decoder(folder, 40).generate(PROMPT, 20)
    config = json.loads((folder / "config.json").read_text())
    config["eos_token_id"] = expected[9]
    (folder / "config.json").write_text(json.dumps(config))
    model = frit.from_pretrained(folder, **OPTIONS)
    end = expected.index(expected[9])
    assert model.ends == [expected[9]]
    assert list(model.generate(PROMPT, 20)) == expected[:end]
    assert list(model.generate(PROMPT, 20, stop=())) == expected
    # What the generation ends by comes first.
    (folder / "generation_config.json").write_text(json.dumps(
        {"eos_token_id": [expected[4], expected[9]]}))
    model = frit.from_pretrained(str(folder), work / "kept.so", **OPTIONS)
    assert list(model.generate(PROMPT, 20)) == expected[:min(expected.index(expected[4]), end)]
    assert model.tokenizer is None and (work / "kept.so").is_file()
    fails("a text needs tokenizer.json in the model's folder", lambda: model.generate("text"))
    fails("is no folder; from_pretrained takes one of Hugging Face",
          lambda: frit.from_pretrained(work / "none"))
    print("ok tokens")
    return folder, expected


def check_texts(folder, expected):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    # A token for each letter; one character takes two of them.
    letters = [chr(ord("A") + i) for i in range(58)]
    vocabulary = {text: i for i, text in enumerate([*letters, "<0xC3>", "<0xA4>", "x!"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "generation_config.json").write_text("{}")
    model = frit.from_pretrained(folder, **OPTIONS)
    prompt = "".join(letters[t] for t in PROMPT)
    parts = list(model.generate(prompt, 20, stop=()))
    assert "".join(parts) == tokenizer.decode(expected) and len(parts) > 5, parts
    # Parts are whole characters.
    assert list(stream(tokenizer, [0], iter([0, 58, 59, 1]))) == ["A", "ä", "B"]
    assert list(stream(tokenizer, [0], iter([0, 58, 1, 58]))) == ["A", "\ufffdB", "\ufffd"]
    check_stops(model, prompt, tokenizer.decode(expected))
    check_words()
    other = Tokenizer(models.BPE(vocab={"A": 0, "Z": 61}, merges=[]))
    model.tokenizer = other
    assert "".join(model.generate("A", 0)) == ""
    fails("the tokenizer gives token 61, and the model knows 61: it is the tokenizer of another "
          "model", lambda: model.generate("AZ", 1))
    (folder / "tokenizer.json").write_text("{")
    fails("tokenizer.json: ", lambda: frit.from_pretrained(folder, **OPTIONS))
    print("ok texts")


def check_stops(model, prompt, text):
    """Texts that end what follows, also where they begin in one token and end in another."""
    model.ends = []
    for end in (text[7:10], text[3], text[-2:]):
        made = "".join(model.generate(prompt, 20, stop=[end, "never"]))
        assert made == text[:text.index(end)], (end, made)
    assert "".join(model.generate(prompt, 20, stop=text[5:8])) == text[:text.index(text[5:8])]
    # Beside texts, the tokens that end a text do; tokens take their place.
    model.ends = [model.tokenizer.token_to_id(text[4])]
    assert "".join(model.generate(prompt, 20, stop=["never"])) == text[:text.index(text[4])]
    assert "".join(model.generate(prompt, 20, stop=["never", 60])) == text
    fails("is not empty", lambda: model.generate(prompt, 20, stop=[""]))
    fails("log probabilities are those of tokens",
          lambda: model.generate(prompt, 20, logprobs=True))
    # What begins like an end and goes on otherwise is shown.
    assert list(stream(model.tokenizer, [0], iter([1, 2, 3]), ["BCX", "CDE"])) == ["B", "CD"]


def check_words():
    """A text goes on with the space that a decoder leaves out where a text begins."""
    from tokenizers import Tokenizer, decoders, models
    tokenizer = Tokenizer(models.BPE(vocab={"▁a": 0, "▁b": 1, "c": 2}, merges=[]))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    assert list(stream(tokenizer, [0, 2], iter([1, 2, 0]))) == [" b", "c", " a"]
    assert list(stream(tokenizer, [], iter([1, 0]))) == ["b", " a"]


if __name__ == "__main__":
    work = Path(sys.argv[1])
    made = check_tokens(work)
    if sys.argv[2:]:
        check_texts(*made)
