"""Sessions of a language model: prefill, decode, rewind, fork, sampling: sessions.py WORK"""
import ctypes
import json
import subprocess
import sys
import threading
from pathlib import Path

import frit
import numpy as np
from folders import CONFIGS, make, random_tensors, write_folder
from reference import Decoder

CAPACITY, PROMPT = 48, [5, 7, 9, 11]


def fails(text, call):
    try:
        call()
    except frit.Error as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError(f"no error with '{text}'")


def compiled(work, name, *options):
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", work / "llama", "-march=x86-64-v3", f"--context={CAPACITY}",
                    *options, "-o", artifact], check=True, stderr=subprocess.DEVNULL)
    return frit.load(artifact, device="cpu", threads=1)


def check_one(module, model):
    expected = model.generate(PROMPT, CAPACITY - len(PROMPT) + 1)
    assert list(module.generate(PROMPT)) == expected
    assert list(module.generate(PROMPT, 9)) == expected[:9]
    stop = expected[6]
    assert list(module.generate(PROMPT, stop=[stop])) == expected[:expected.index(stop)]
    with frit.Session(module) as session:
        assert (session.batch, session.capacity, session.vocabulary) == (1, CAPACITY, 61)
        # A prompt in parts, by chunks of every size; logits are the model's.
        long = (PROMPT * 10)[:37]
        for part in (long[:1], long[1:3], long[3:20], long[20:]):
            logits = session.prefill(part)
        assert np.allclose(logits, model.logits(long), atol=2e-5)
        assert session.length() == 37
        fails("sequence 0 has 37 tokens, and its cache holds 48: there is no room for 12 more",
              lambda: session.decode(13))
        fails("12 tokens do not fit after the 37 of sequence 0: its cache holds 48",
              lambda: session.prefill([1] * 12))
        # What was forgotten leaves no trace.
        session.rewind(4)
        fails("has no token to continue from", lambda: session.decode(1))
        session.rewind(0)
        session.prefill(PROMPT)
        assert session.decode(5).tolist() == [expected[:5]]
        # A copy goes on by itself.
        copy = session.fork()
        assert copy.decode(4).tolist() == session.decode(4).tolist() == [expected[5:9]]
        copy.prefill([3])
        assert session.decode(3).tolist() == [expected[9:12]]
        copy.close()
        fails("the session is closed", copy.length)
        # The host's choice and the device's follow each other.
        session.rewind(0)
        session.prefill(PROMPT)
        zero = np.zeros(61, np.float32)
        made = [int(session.decode(1, bias=None if i % 3 else zero)[0, 0]) for i in range(12)]
        assert made == expected[:12], made
        fails("cannot be rewound to 99", lambda: session.rewind(99))
        fails("there is no sequence 1: the session has 1", lambda: session.prefill([1], 1))
        fails("token 61 at [1] is not in the vocabulary, 0 to 60",
              lambda: session.prefill([1, 61]))
        fails("there are no tokens to append", lambda: session.prefill([]))
    print("ok one sequence")


def check_sampling(module, model):
    session = frit.Session(module)

    def chosen(count=1, prompt=PROMPT, **sampling):
        session.rewind(0)
        session.prefill(prompt)
        return session.decode(count, **sampling)[0].tolist()

    logits = model.logits(PROMPT)
    order = np.argsort(-logits, kind="stable")
    # A forbidden token, and one that must be.
    bias = np.zeros(61, np.float32)
    bias[order[0]] = -np.inf
    assert chosen(bias=bias) == [order[1]]
    bias[:] = -np.inf
    bias[17] = 0
    assert chosen(bias=bias, temperature=1) == [17]
    bias[17] = -np.inf
    fails("no token may follow", lambda: chosen(bias=bias))
    # The filters keep what they should, and seeds repeat.
    seen = {k: set() for k in ("top_k", "top_p", "min_p")}
    for seed in range(300):
        for kind, filters in (("top_k", {"top_k": 3}), ("top_p", {"top_p": 0.3}),
                              ("min_p", {"min_p": 0.5})):
            got = chosen(temperature=1.5, seed=seed, **filters)
            seen[kind] |= set(got)
            if seed < 3:
                assert got == chosen(temperature=1.5, seed=seed, **filters)
    warm = np.exp(logits / 1.5 - (logits / 1.5).max())
    share = np.cumsum(warm[order]) / warm.sum()
    assert seen["top_k"] == set(order[:3].tolist()), seen
    assert seen["top_p"] == set(order[:np.searchsorted(share, 0.3) + 1].tolist()), seen
    assert seen["min_p"] == {int(t) for t in order if warm[t] >= 0.5}, seen
    counts = np.bincount([chosen(temperature=1.5, seed=seed)[0] for seed in range(400)],
                         minlength=61)
    assert np.abs(counts / 400 - warm / warm.sum()).max() < 0.08, counts
    # Log probabilities are the model's, whatever is chosen.
    session.rewind(0)
    session.prefill(PROMPT)
    tokens, logs = session.decode(6, temperature=1.5, seed=4, top_k=20, logprobs=True)
    assert tokens.shape == logs.shape == (1, 6)
    for i, (token, log) in enumerate(zip(tokens[0], logs[0])):
        wide = model.logits(PROMPT + tokens[0, :i].tolist()).astype(np.float64)
        expected = wide[token] - wide.max() - np.log(np.exp(wide - wide.max()).sum())
        assert abs(log - expected) < 1e-4, (i, log, expected)
    session.rewind(0)
    session.prefill(PROMPT)
    greedy, logs = session.decode(4, logprobs=True)
    assert greedy.tolist() == [model.generate(PROMPT, 4)] and (logs < 0).all()
    # A penalty makes the most likely token less so, if it is in the sequence.
    prompt = [*PROMPT, int(order[0])]
    after = model.logits(prompt)
    penalized = after.copy()
    for token in set(prompt):
        penalized[token] *= 1 / 1.9 if after[token] > 0 else 1.9
    assert chosen(prompt=prompt, repetition_penalty=1.9) == [penalized.argmax()]
    for temperature in (0, 1):
        fails("top_p and min_p from 0 to 1", lambda: chosen(top_p=2, temperature=temperature))
    print("ok sampling")


def check_generate(module, model):
    """Options of generate and what is no option."""
    expected = model.generate(PROMPT, 12)

    def made(count=12, prompt=PROMPT, **options):
        return list(module.generate(prompt, count, **options))

    bias = np.zeros(61, np.float32)
    for kind in (bias, bias.tolist(), bias.astype(bool)):
        assert made(bias=kind) == expected
    bias[expected[0]] = -np.inf
    assert expected[0] not in made(bias=bias)
    # A grammar that allows one token in turn: the array is read before each of them.
    bias[:], turns = -np.inf, [3, 50, 7, 0]
    bias[turns[0]] = 0
    tokens = []
    for token in module.generate(PROMPT, 4, bias=bias):
        tokens.append(token)
        bias[token], bias[turns[len(tokens) % 4]] = -np.inf, 0
    assert tokens == turns, tokens
    for name in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "bias"):
        assert made(**{name: None}) == expected
    with frit.Session(module) as session:
        session.prefill(PROMPT)
        tokens, logs = session.decode(12, logprobs=True)
    pairs = list(zip(tokens[0].tolist(), logs[0].tolist()))
    assert made(logprobs=True) == pairs
    end = expected.index(expected[5])
    assert made(logprobs=True, stop=expected[5]) == pairs[:end]
    for stop in (expected[5], [expected[5]], np.array([expected[5]])):
        assert made(stop=stop) == expected[:end]
    assert made(stop=None) == expected and made(0) == [] and made(np.int64(3)) == expected[:3]
    # A seed beyond 32 bits is another one; more tokens than there are is all of them.
    assert made(temperature=1, top_k=2**32 + 1) == made(temperature=1)
    # Two that take turns, and the session of one that was not finished.
    one, other = module.generate(PROMPT, 12), module.generate([3], 12)
    assert list(zip(one, other)) == list(zip(expected, model.generate([3], 12)))
    for text, options in (
            ("top_k is at least 0, not -1", dict(top_k=-1)),
            ("top_k is an integer, not 2.5", dict(top_k=2.5)),
            ("temperature is a number, not 'hot'", dict(temperature="hot")),
            ("temperature is finite, not inf", dict(temperature=float("inf"))),
            ("repetition_penalty is finite", dict(repetition_penalty=1e39)),
            ("a temperature and a repetition penalty are finite and at least 0",
             dict(temperature=float("nan"))),
            ("a bias has a number for each of 61 tokens, not 'x'", dict(bias="x")),
            ("not the shape (60,)", dict(bias=np.zeros(60))),
            ("max_new_tokens is at least 0, not -1", dict(count=-1)),
            ("max_new_tokens is an integer, not 1.5", dict(count=1.5)),
            ("a token that ends a text is an integer, not '.'", dict(stop=["."])),
            ("tokens are integers in a list", dict(prompt=[[1], [2, 3]])),
            ("tokens are integers in a list", dict(prompt="text"))):
        fails(text, lambda: made(**options))
    try:
        made(do_sample=True)
    except TypeError as error:
        assert "no option 'do_sample' of sampling; there are temperature" in str(error), error
    else:
        raise AssertionError("an option that is not there")
    with frit.Session(module) as session:
        session.prefill(PROMPT)
        fails("a number of tokens is at least 0, not -1", lambda: session.decode(-1))
        fails(f"{2**33} tokens do not fit in a cache that holds 48",
              lambda: session.decode(2**33))
        fails("a sequence is at least 0, not -1", lambda: session.prefill([1], -1))
        fails("cannot be rewound to 4294967295", lambda: session.rewind(2**32 + 1))
        fails("a source is a list of tokens", lambda: session.encode("text"))
        fails("tokens are integers in a list", lambda: session.encode([1.5]))
        fails("guesses are a list of tokens for each sequence", lambda: session.verify(None))
        fails("a bias has a number for each of 61 tokens",
              lambda: session.decode(1, bias=np.zeros(61, complex)))
        assert session.length(2**32) == 0
        # A count that no buffer has is refused before the tokens are read.
        status = frit._abi.lib.frit_session_prefill(session._handle, 0, (ctypes.c_int32 * 1)(),
                                                    2**32 - 1, None)
        assert status == 1, status
        assert session.decode(12)[0].tolist() == expected
    fails("a session is of a module", lambda: frit.Session("one.so"))
    print("ok generate")


def check_nan(work):
    """A weight that is no number leaves no token to choose, whoever chooses it."""
    config = CONFIGS["llama"]
    tensors = random_tensors(config, 1)
    tensors["model.norm.weight"][3] = np.nan
    write_folder(work / "nan", config, tensors)
    subprocess.run(["fritc", work / "nan", "-march=x86-64-v3", f"--context={CAPACITY}",
                    "--verify=4", "-o", work / "nan.so"], check=True, stderr=subprocess.DEVNULL)
    session = frit.Session(frit.load(work / "nan.so", device="cpu", threads=1))
    assert np.isnan(session.prefill(PROMPT)).all()
    for options in ({}, {"temperature": 1}, {"logprobs": True}):
        fails("no token may follow: all logits are NaN", lambda: session.decode(3, **options))
    fails("no token may follow: all logits are NaN", lambda: session.verify([[1, 2]]))
    print("ok not a number")


def check_late_nan(work):
    """The row of a token that is chosen is no number: the tokens before it stay."""
    config = CONFIGS["llama"]
    tensors = random_tensors(config, sum(map(ord, "llama")))
    write_folder(work / "right", config, tensors)
    expected = Decoder(work / "right", CAPACITY).generate(PROMPT, 16)
    first = next(i for i, token in enumerate(expected) if i > 2 and token not in PROMPT and
                 token not in expected[:i])
    tensors["model.embed_tokens.weight"][expected[first]] = np.nan
    write_folder(work / "late", config, tensors)
    subprocess.run(["fritc", work / "late", "-march=x86-64-v3", f"--context={CAPACITY}",
                    "--verify=4", "-o", work / "late.so"], check=True, stderr=subprocess.DEVNULL)
    session = frit.Session(frit.load(work / "late.so", device="cpu", threads=1))
    reason = f"no token may follow the {len(PROMPT) + first + 1} of sequence 0: logits are NaN"
    for calls in ([16], [first + 1, 1], [1] * (first + 2)):
        session.rewind(0)
        session.prefill(PROMPT)
        for count in calls[:-1]:
            session.decode(count)
        fails(reason, lambda: session.decode(calls[-1]))
        fails("sequence 0 has no token to continue from", lambda: session.decode(1))
    # A guess that leads there. Products of a call may mix its rows' NaNs with zeros.
    session.rewind(0)
    session.prefill(PROMPT)
    made = session.decode(first)[0].tolist()
    assert made == expected[:first]
    fails("of sequence 0: logits are NaN", lambda: session.verify([[expected[first]]]))
    session.rewind(len(PROMPT))
    session.prefill([expected[0]])
    assert session.decode(2).tolist() == [expected[1:3]]
    print("ok late not a number")


def check_batch(work, model):
    module = compiled(work, "batch", "--batch=3")
    session = frit.Session(module)
    prompts = [PROMPT, [2, 3], [8] * 20]
    session.prefill(prompts[0], 0)
    session.prefill(prompts[2], 2)
    fails("sequence 1 has no token to continue from", lambda: session.decode(1))
    session.prefill(prompts[1], 1)
    expected = [model.generate(prompt, 12) for prompt in prompts]
    assert session.decode(7).tolist() == [row[:7] for row in expected]
    # One sequence begins anew beside the others.
    session.rewind(0, 1)
    session.prefill(PROMPT, 1)
    rows = session.decode(4).tolist()
    assert rows[1] == expected[0][:4]
    fails("sequences at a time", lambda: list(module.generate(PROMPT)))
    print("ok batch")


def check_threads(module):
    session = frit.Session(module)
    session.prefill(PROMPT)
    found = []

    def use():
        for _ in range(300):
            try:
                session.rewind(0)
                session.prefill(PROMPT * 4)
            except frit.Error as error:
                found.append(str(error))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A thread whose rewind was refused may find the cache full.
    others = {error for error in found if "do not fit after" not in error}
    assert others == {"the session is used by another thread"}, set(found)
    session.rewind(0)
    session.prefill(PROMPT)
    expected = session.fork().decode(5).tolist()
    # A fork of a fork outlives both; who closes a session waits for those that use it.
    fork = session.fork()
    copy = fork.fork()
    fork.close()
    closed = []

    def read():
        while closed.count("the session is closed") < 2:
            try:
                session.rewind(0)
                session.prefill(PROMPT * 4)
            except frit.Error as error:
                closed.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    session.close()
    for thread in threads:
        thread.join()
    others = {error for error in closed if "do not fit after" not in error}
    assert others <= {"the session is closed", "the session is used by another thread"}, others
    assert copy.decode(5).tolist() == expected
    print("ok threads")


def main(work):
    make(work, "llama")
    model = Decoder(work / "llama", CAPACITY)
    module = compiled(work, "one")
    check_one(module, model)
    check_sampling(module, model)
    check_generate(module, model)
    check_nan(work)
    check_late_nan(work)
    check_batch(work, model)
    check_threads(module)
    expected = " ".join(map(str, model.generate(PROMPT, 10)))
    shown = subprocess.run(["frit-run", work / "one.so", "--tokens=5,7,9,11", "--max-tokens=10"],
                           check=True, capture_output=True, text=True).stdout
    assert shown == expected + "\n", shown
    print("ok frit-run")
    check_chat(work, model)
    check_perplexity(work, model)


def check_chat(work, model):
    """A conversation goes on without lines that cannot be replied to."""
    folder = work / "chat"
    folder.mkdir()
    letters = [chr(ord("A") + i) for i in range(58)]
    (folder / "tokenizer.json").write_text(json.dumps({
        "model": {"type": "BPE", "vocab": {text: i for i, text in enumerate(letters)},
                  "merges": []}, "decoder": {"type": "Fuse"}}))

    def chat(lines, *options):
        done = subprocess.run(
            ["frit-run", work / "one.so", f"--tokenizer={folder}", "--chat", "--max-tokens=3",
             *options], input="\n".join([*lines, ""]), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.split("\n")[:-1], done.stderr

    def reply(text):
        made = model.generate([letters.index(letter) for letter in text], 3)
        assert max(made) < 58
        return "".join(letters[token] for token in made)

    # Before a line is typed.
    message = "frit-run: the tokenizer has no chat template\n"
    assert chat([]) == (1, [], message) == chat([], "--prompt=AB"), chat([])
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": (
        "{% if messages[-1].content == 'no' %}{{ raise_exception('no') }}{% endif %}"
        "{% for message in messages %}{{ message.content }}{% endfor %}")}))
    first = reply("AB")
    second = reply("AB" + first + "CD")
    found = chat(["AB", "", "CD"])
    assert found == (0, [first, second], ""), (found, first, second)
    found = chat(["AB", "no", "E" * CAPACITY, "CD"])
    assert found == (1, [first, second], (
        "frit-run: the tokenizer's chat template: line 1: the template refuses the conversation: "
        f"no\nfrit-run: {CAPACITY + 1} tokens do not fit after the 4 of sequence 0: its cache holds "
        f"{CAPACITY}\n")), found
    unread = subprocess.run(["sh", "-c", 'exec "$@" < "$0"', folder, "frit-run", work / "one.so",
                             f"--tokenizer={folder}", "--chat"],
                            capture_output=True, text=True, check=False)
    assert (unread.returncode, unread.stderr) == (
        1, "frit-run: cannot read the standard input\n"), unread
    print("ok chat")


def check_perplexity(work, model):
    """Two windows: the first token of each is not foreseen."""
    tokens = [int(t) for t in np.random.default_rng(5).integers(0, 61, CAPACITY + 7)]
    losses = []
    for begin in (0, CAPACITY):
        window = tokens[begin:begin + CAPACITY]
        for i in range(1, len(window)):
            logits = model.logits(window[:i]).astype(np.float64)
            losses.append(np.log(np.exp(logits - logits.max()).sum()) + logits.max()
                          - logits[window[i]])
    shown = subprocess.run(
        ["frit-run", work / "one.so", "--tokens=" + ",".join(map(str, tokens)), "--perplexity",
         "--json"], check=True, capture_output=True, text=True).stdout
    shown = json.loads(shown)
    assert (shown["tokens"], shown["window"]) == (CAPACITY + 5, CAPACITY), shown
    assert abs(shown["loss"] - np.mean(losses)) < 1e-5, (shown, np.mean(losses))
    assert abs(shown["perplexity"] / np.exp(np.mean(losses)) - 1) < 1e-5, shown
    print("ok perplexity")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
