#!/usr/bin/env python3
"""Holds frit-tokenize to the Python package `tokenizers`.

    compare.py [--bin build/dev/bin] [--lines 10000] [--seed 1]
               [--file tokenizer.json]...

Needs `pip install tokenizers`. Trains tokenizers of each kind on random lines in
twelve scripts and compares the tokens of other lines, the text that these decode
to, at once and token by token, and the text of random tokens.
"""
import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import precompiled
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

ROOT = Path(__file__).resolve().parents[3]

# Ranges of letters and marks, and a sentence each.
SCRIPTS = {
    "Latin": ("a-zA-Z\u00c0-\u024f", "The quick brown fox isn't here, they'll say; "
              "Straße, naïve façade, İstanbul and ﬁne ﬂour."),
    "Greek": ("\u0370-\u03ff\u1f00-\u1fff", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι."),
    "Cyrillic": ("\u0400-\u04ff", "Все люди рождаются свободными и равными."),
    "Hebrew": ("\u05d0-\u05ea\u05b0-\u05c2", "כָּל בְּנֵי הָאָדָם נוֹלְדוּ בְּנֵי חוֹרִין."),
    "Arabic": ("\u0621-\u0652\u0660-\u0669", "يولد جميع الناس أحرارًا ١٢٣ متساوين."),
    "Devanagari": ("\u0900-\u097f", "सभी मनुष्यों को गौरव और अधिकारों के मामले में।"),
    "Bengali": ("\u0985-\u09b9\u09be-\u09cd\u09e6-\u09ef", "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা।"),
    "Tamil": ("\u0b85-\u0bb9\u0bbe-\u0bcd", "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே."),
    "Thai": ("\u0e01-\u0e3a\u0e40-\u0e5b", "มนุษย์ทั้งหลายเกิดมามีอิสระ ๑๒๓"),
    "Han": ("\u4e00-\u9fa5", "人人生而自由，在尊严和权利上一律平等。"),
    "Kana": ("\u3041-\u3096\u30a1-\u30fa", "すべての人間は、ｶﾞｷﾞ自由である。"),
    "Hangul": ("\uac00-\ud7a3\u1100-\u1112", "모든 인간은 태어날 때부터 자유로우며."),
}
OTHERS = ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "👍🏽", "½", "①", "Ⅷ",
          "\u00a0", "\u3000", "\u200b", "\u2028", "\t", "\n", "\r\n", "\u0301", "\u0345",
          "12345", "3.14159", "x=y+1;", "'re", "'S", "’s", "<|end|>", "<mask>",
          "[SEP]", "don't", "__init__", "ſ", "ﬀ", "Å", "ṩ", "\U0001d54f", "\ue000", "\u1e9b\u0323",
          "...", "!?", "«»", "“”", "—", "$€", "@#%", "   ", "      ", "\u0b95\u0bcb"]

GPT2 = None
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def characters(ranges: str) -> list[str]:
    result, at = [], 0
    while at < len(ranges):
        first = last = ranges[at]
        if ranges[at + 1:at + 2] == "-":
            last, at = ranges[at + 2], at + 2
        result += map(chr, range(ord(first), ord(last) + 1))
        at += 1
    return [c for c in result if unicodedata.name(c, "")]


def make_lines(count: int, seed: int) -> list[str]:
    """Sentences of each script in turn, of its own words, invented ones and
    things that are hard to split."""
    draw = random.Random(seed)
    scripts = [(characters(ranges), text.split())
               for ranges, text in SCRIPTS.values()]
    invented = [["".join(draw.choices(letters, k=draw.randint(1, 7)))
                 for _ in range(300)] for letters, _ in scripts]
    lines = []
    for number in range(count):
        index = number % len(scripts)
        words = [draw.choice(scripts[index][1]) if draw.random() < 0.4 else
                 draw.choice(invented[index]) if draw.random() < 0.7 else
                 draw.choice(OTHERS) for _ in range(draw.randint(0, 12))]
        lines.append("".join(
            word + draw.choice(("", " ", " ", " ", " ", "  ", "\n"))
            for word in words))
    return lines


SPACES = {c: " " for c in map(chr, range(0x110000)) if c.isspace()}


def byte_level(expression, composes=False, **extra):
    tokenizer = Tokenizer(models.BPE(**extra))
    if expression is None:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        if composes:
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(expression), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|begin|>", "<|end|>"])


def with_ends(made):
    tokenizer, trainer = made
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(), processors.TemplateProcessing(
            single="<|begin|> $A <|end|>",
            special_tokens=[("<|begin|>", 0), ("<|end|>", 1)])])
    return tokenizer, trainer


def bytes_as_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def llama2():
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>",
                                     fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    # Training on whole lines takes long.
    return tokenizer, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, limit_alphabet=700,
        max_token_length=12,
        special_tokens=["<unk>", "<s>", "</s>", *bytes_as_tokens()])


def metaspace(scheme):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence([
        decoders.ByteFallback(), decoders.Metaspace(prepend_scheme=scheme)])
    return tokenizer, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, limit_alphabet=700,
        special_tokens=["<unk>", "<s>", "</s>", *bytes_as_tokens()])


def unigram(**extra):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=9000, show_progress=False, unk_token="<unk>",
        special_tokens=["<unk>", "<s>"], **extra)


def mapped():
    tokenizer, trainer = unigram()
    tokenizer.normalizer = normalizers.Precompiled(precompiled.charsmap())
    return tokenizer, trainer


def t5():
    """As T5's: white space becomes a space, and those merge."""
    tokenizer, trainer = unigram()
    tokenizer.normalizer = normalizers.Precompiled(precompiled.charsmap(SPACES))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer, trainer


def plain():
    """Words without bytes, with ends and unknown characters."""
    tokenizer = Tokenizer(models.BPE(
        unk_token="[UNK]", continuing_subword_prefix="##", fuse_unk=True,
        end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(),
        normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.BPEDecoder()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, limit_alphabet=500,
        continuing_subword_prefix="##", end_of_word_suffix="</w>",
        special_tokens=["[UNK]", "[SEP]"])


def pieces(behavior, invert=False):
    tokenizer = Tokenizer(models.BPE(unk_token="?"))
    tokenizer.normalizer = normalizers.NFKD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[\p{P}\s]|\w\d"), behavior, invert),
        pre_tokenizers.Digits(), pre_tokenizers.Punctuation("contiguous")])
    return tokenizer, trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, limit_alphabet=500,
        special_tokens=["?"])


KINDS = {
    "GPT-2": lambda: byte_level(GPT2),
    "Llama 3": lambda: with_ends(byte_level(LLAMA3, ignore_merges=True)),
    "Qwen 2": lambda: byte_level(QWEN2, composes=True),
    "GPT-4o": lambda: byte_level(GPT4O),
    "Llama 2": llama2,
    "Metaspace": lambda: metaspace("always"),
    "Metaspace first": lambda: metaspace("first"),
    "Metaspace never": lambda: metaspace("never"),
    "Unigram": unigram,
    "mapped": mapped,
    "T5": t5,
    "words": plain,
} | {f"{behavior}{' inverted' * invert}":
     (lambda behavior=behavior, invert=invert: pieces(behavior, invert))
     for behavior in ("isolated", "removed", "merged_with_previous",
                      "merged_with_next", "contiguous")
     for invert in (False, True)}

#: "tokenizer.ggml.pre" of kinds that GGUF files can say.
GGUF_NAMES = {"GPT-2": "gpt-2", "Llama 3": "llama-bpe", "Qwen 2": "qwen2", "GPT-4o": "gpt-4o",
              "T5": None}


def write_t5(file: Path, tokenizer: Tokenizer, gguf_file) -> None:
    tokens, scores = zip(*json.loads(tokenizer.to_str())["model"]["vocab"])
    file.write_bytes(gguf_file.make({
        "tokenizer.ggml.model": "t5", "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.scores": list(map(float, scores)),
        "tokenizer.ggml.token_type": [2, 3] + [1] * (len(tokens) - 2),
        "tokenizer.ggml.unknown_token_id": 0, "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_eos_token": False, "tokenizer.ggml.add_space_prefix": True,
        "tokenizer.ggml.remove_extra_whitespaces": True,
        "tokenizer.ggml.precompiled_charsmap": list(precompiled.charsmap(SPACES))}))


def write_gguf(file: Path, tokenizer: Tokenizer, name: str) -> None:
    sys.path.insert(0, str(ROOT / "test/gguf"))
    import gguf_file
    if name == "T5":
        return write_t5(file, tokenizer, gguf_file)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    ends = name == "Llama 3"
    file.write_bytes(gguf_file.make({
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": GGUF_NAMES[name],
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(tokens) - 2),
        "tokenizer.ggml.merges": [" ".join(merge) for merge in model["merges"]],
        "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": ends, "tokenizer.ggml.add_eos_token": ends}))


ADDED = [AddedToken("<mask>", lstrip=True, special=True),
         AddedToken("<|end|>", special=True),
         AddedToken("fox", single_word=True, normalized=False),
         AddedToken("Straße", normalized=True),
         AddedToken("   ", normalized=False), AddedToken("      ", normalized=False),
         AddedToken("x=y", rstrip=True, normalized=False)]


def call(args, file, lines, *flags):
    run = subprocess.run([args.bin / "frit-tokenize", file, *flags],
                         input="\n".join(lines) + "\n", capture_output=True,
                         text=True, check=False)
    if run.returncode:
        sys.exit(f"frit-tokenize {file}: {run.stderr}")
    return run.stdout.removesuffix("\n").split("\n")


def differ(name, what, inputs, got, wanted) -> int:
    wrong = [i for i, (a, b) in enumerate(itertools.zip_longest(got, wanted))
             if a != b]
    for i in wrong[:3]:
        print(f"{name}: {what} of {inputs[i]!r}:\n  {got[i]!r}\nnot\n  {wanted[i]!r}")
    return len(wrong)


def compare(args, name, file, lines, tokenizer=None) -> int:
    tokenizer = tokenizer or Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = [json.dumps(line) for line in lines]
    wrong = 0
    for special, flags in ((True, ()), (False, ("--no-special",))):
        wanted = [e.ids for e in tokenizer.encode_batch(
            lines, add_special_tokens=special)]
        got = [[*map(int, line.split())]
               for line in call(args, file, texts, "--json", *flags)]
        wrong += differ(name, "tokens", lines, got, wanted)
    draw = random.Random(7)
    size = tokenizer.get_vocab_size()
    for what, many in (("text", wanted), ("text of random tokens", [
            [draw.randrange(size) for _ in range(draw.randint(1, 20))]
            for _ in lines])):
        ids = [" ".join(map(str, one)) for one in many]
        for skip, flags in ((True, ()), (False, ("--no-special",))):
            expected = tokenizer.decode_batch(many, skip_special_tokens=skip)
            decoded = call(args, file, ids, "--json", "--decode", *flags)
            wrong += differ(name, what, many, map_json(decoded), expected)
        # Only text that is text is the same token by token.
        streamed = call(args, file, ids, "--json", "--decode", "--stream")
        whole = call(args, file, ids, "--json", "--decode")
        kept = [i for i, text in enumerate(whole) if "\ufffd" not in json.loads(text)]
        wrong += differ(name, what + " by token", [many[i] for i in kept],
                        [streamed[i] for i in kept], [whole[i] for i in kept])
    tokens = sum(map(len, wanted))
    print(f"{name}: {len(lines)} lines, {tokens} tokens, {wrong} differences",
          flush=True)
    return wrong


def map_json(lines):
    return [json.loads(line) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--file", action="append", type=Path, default=[])
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    lines = make_lines(args.lines, args.seed)
    wrong = 0
    for file in args.file:
        wrong += compare(args, str(file), file, lines)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.kind or ([] if args.file else KINDS):
            tokenizer, trainer = KINDS[name]()
            # Training splits on other lines than the test has.
            tokenizer.train_from_iterator(make_lines(3000, args.seed + 1), trainer)
            if name in GGUF_NAMES:
                file = Path(folder, "model.gguf")
                write_gguf(file, tokenizer, name)
                wrong += compare(args, name + " in GGUF", file, lines, tokenizer)
            tokenizer.add_tokens(ADDED)
            file = Path(folder, "tokenizer.json")
            tokenizer.save(str(file))
            wrong += compare(args, name, file, lines)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
