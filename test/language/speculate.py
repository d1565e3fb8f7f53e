"""Guesses that a language model checks give the tokens of plain decoding: speculate.py WORK"""
import json
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
from folders import CONFIGS, make, random_tensors, write_folder
from reference import Decoder
from sessions import CAPACITY, PROMPT, fails

GUESSES = 5


def compiled(work, folder, name, *options):
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", work / folder, "-march=x86-64-v3", f"--context={CAPACITY}",
                    "-fshape=chunk=1,16", *options, "-o", artifact], check=True,
                   stderr=subprocess.DEVNULL)
    return frit.load(artifact, device="cpu", threads=1)


def check_guesses(module, expected):
    """Every number of right guesses, followed by none, one or several wrong ones."""
    with frit.Session(module) as session:
        assert session.guesses == GUESSES
        for right in range(GUESSES + 1):
            for wrong in range(GUESSES + 1 - right):
                for known in (False, True):
                    session.rewind(0)
                    session.prefill(PROMPT)
                    start = 3 if known else 0
                    if known:
                        assert session.decode(3).tolist() == [expected[:3]]
                    guess = expected[start:start + right]
                    guess += [(t + 1) % 61 for t in expected[start + right:start + right + wrong]]
                    made = session.verify([guess])
                    assert made == [expected[start:start + right + 1]], (right, wrong, made)
                    end = start + right + 1
                    assert session.length() == len(PROMPT) + end - 1
                    # Decoding goes on from there, by the device's choice and the host's.
                    assert session.decode(2).tolist() == [expected[end:end + 2]]
                    again = session.decode(2, bias=np.zeros(61, np.float32))
                    assert again.tolist() == [expected[end + 2:end + 4]]
    print("ok guesses")


def check_sampled(module):
    """Choices by seed are the same, and what follows them by the device, too."""
    sampling = dict(temperature=1.5, top_k=8, seed=11, repetition_penalty=1.2)
    expected = list(module.generate(PROMPT, 30, **sampling))
    for guesses in (None, 1, 3):
        assert list(module.generate(PROMPT, 30, speculate="lookup", guesses=guesses,
                                    **sampling)) == expected
    with frit.Session(module) as session, frit.Session(module) as plain:
        for right in range(GUESSES):
            for each in (session, plain):
                each.rewind(0)
                each.prefill(PROMPT)
            guess = expected[:right] + [(expected[right] + 1) % 61]
            got, logs = session.verify([guess], logprobs=True, **sampling)
            assert got == [expected[:right + 1]]
            tokens, plainly = plain.decode(right + 1, logprobs=True, **sampling)
            assert tokens.tolist() == [expected[:right + 1]]
            assert np.allclose(logs[0], plainly[0], atol=1e-5)
            assert session.decode(5).tolist() == plain.decode(5).tolist()
    print("ok sampled")


def check_generate(module, expected, drafts):
    assert list(module.generate(PROMPT)) == expected
    assert list(module.generate(PROMPT, speculate="lookup")) == expected
    for draft in drafts:
        for guesses in (None, 1, 2):
            for count in (None, 1, 2, 17):
                got = list(module.generate(PROMPT, count, speculate=draft, guesses=guesses))
                assert got == expected[:count], (guesses, count, got)
        stop = expected[6]
        assert list(module.generate(PROMPT, stop=[stop], speculate=draft)) \
            == expected[:expected.index(stop)]
    assert frit.lookup([1, 2, 3, 4, 9, 2, 3], 2) == [4, 9]
    # The longest match decides, of several the latest.
    assert frit.lookup([1, 2, 5, 3, 2, 6, 1, 2], 1) == [5]
    assert frit.lookup([2, 5, 2, 6, 2], 3) == [6, 2]
    assert frit.lookup([7, 7, 7], 2) == [7]
    assert frit.lookup([1, 2, 3], 2) == frit.lookup([], 2) == frit.lookup([1, 1], 0) == []
    print("ok generate")


def check_batch(module, model):
    """Sequences guess well, badly, and not at all beside each other."""
    prompts = [PROMPT, [2, 3], [8] * 20]
    expected = [model.generate(prompt, 20) for prompt in prompts]
    session = frit.Session(module)
    for i, prompt in enumerate(prompts):
        session.prefill(prompt, i)
    made = [[] for _ in prompts]
    for step in range(6):
        guesses = []
        for i, row in enumerate(expected):
            at = len(made[i])
            guess = row[at:at + (step + i) % 4]
            if step % 2 and guess:
                guess[-1] = (guess[-1] + 1) % 61
            guesses.append(guess)
        for i, tokens in enumerate(session.verify(guesses)):
            assert 1 <= len(tokens) <= len(guesses[i]) + 1
            made[i] += tokens
            assert made[i] == expected[i][:len(made[i])], (step, i)
    fails("guesses are lists of tokens for each of 3 sequences", lambda: session.verify([[1]]))
    print("ok batch")


def check_errors(module, plain, other):
    session = frit.Session(module)
    fails("sequence 0 has no token to continue from", lambda: session.verify([[1]]))
    session.prefill(PROMPT)
    fails("sequence 0 has 6 guesses; a call takes up to 5", lambda: session.verify([[1] * 6]))
    fails("guess 61 at [0, 1] is not in the vocabulary, 0 to 60",
          lambda: session.verify([[1, 61]]))
    session.decode(CAPACITY - len(PROMPT) - 1)
    fails("sequence 0 has 46 tokens, and its cache holds 48: there is no room for 5 more",
          lambda: session.verify([[1] * 4]))
    assert len(session.verify([[1]])[0]) >= 1
    fails("has no function of the role verify; fritc --verify=NUMBER makes one",
          lambda: list(plain.generate(PROMPT, speculate="lookup")))
    fails("the draft extends 1 sequences of 7 tokens, and the model 1 of 61",
          lambda: list(module.generate(PROMPT, speculate=other)))
    print("ok errors")


def check_tool(work, expected):
    for options, right in ((["--speculate=lookup"], None), ([f"--draft={work}/verify.so"], 19),
                           ([f"--draft={work}/draft.so", "--guesses=2"], None)):
        shown = subprocess.run(
            ["frit-run", work / "verify.so", "--tokens=5,7,9,11", "--max-tokens=23", "--json",
             *options], check=True, capture_output=True, text=True).stdout
        shown = json.loads(shown)
        assert shown["tokens"] == expected[:23], shown
        assert right is None or shown["right_guesses"] == right, shown
    print("ok frit-run")


def main(work):
    for name in ("llama", "linear"):
        make(work, name)
    config = CONFIGS["llama"] | dict(vocab_size=7, pad_token_id=None)
    write_folder(work / "other", config, random_tensors(config, 3))
    model = Decoder(work / "llama", CAPACITY)
    expected = model.generate(PROMPT, CAPACITY - len(PROMPT) + 1)
    module = compiled(work, "llama", "verify", f"--verify={GUESSES + 1}")
    draft = compiled(work, "linear", "draft")
    check_guesses(module, expected)
    check_sampled(module)
    check_generate(module, expected, ["lookup", draft, module])
    check_batch(compiled(work, "llama", "batch", f"--verify={GUESSES + 1}", "--batch=3"), model)
    check_errors(module, draft, compiled(work, "other", "other"))
    check_tool(work, expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
