"""frit.from_pretrained: tokens, and with the package tokenizers texts: pretrained.py WORK [texts]"""
import json
import sys
from pathlib import Path

import frit
from folders import make
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
    whole = list(model._text(iter([0, 58, 59, 1])))
    assert whole == ["A", "ä", "B"], whole
    (folder / "tokenizer.json").write_text("{")
    fails("tokenizer.json: ", lambda: frit.from_pretrained(folder, **OPTIONS))
    print("ok texts")


if __name__ == "__main__":
    work = Path(sys.argv[1])
    made = check_tokens(work)
    if sys.argv[2:]:
        check_texts(*made)
