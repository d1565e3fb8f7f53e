"""The same bits at any batch: batches.py WORK TOKENS FAMILY...

A prompt is continued alone, then as one of 2, 9 and 32 sequences of different lengths, by chunks of
other sizes and by other numbers of threads. Its logits after each token must be equal bit for bit.
"""
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np

import folders

VOCABULARY = 331
#: Sequences, tokens of a chunk of prefill, threads. The first has the prompt alone.
CASES = [(1, 8, 1), (1, 1, 2), (2, 8, 1), (9, 5, 2), (32, 16, 1)]


def compile(folder, context, batch, chunk, *options):
    artifact = folder.with_suffix(f".{batch}-{chunk}.so")
    subprocess.run(["fritc", f"{folder}/", "-march=x86-64-v3", f"--context={context}",
                    f"--batch={batch}", f"-fshape=chunk={chunk}", *options, "-o", artifact],
                   check=True, stderr=subprocess.DEVNULL)
    return artifact


def follow(artifact, prompts, chunk, threads, count):
    """Returns the first sequence's logits after its prompt and after each of `count` tokens."""
    module = frit.load(artifact, device="cpu", threads=threads)
    prefill, decode = module.function("prefill"), module.function("decode")
    rows = []
    for at in range(0, max(map(len, prompts)), chunk):
        parts = [prompt[at:at + chunk] for prompt in prompts]
        size = max(map(len, parts))
        tokens = np.array([part + [0] * (size - len(part)) for part in parts], np.int32)
        logits = np.array(prefill(tokens, np.array([len(part) for part in parts], np.int32)))
        if parts[0]:
            rows = [logits[0].copy()]
    rows += [np.array(decode())[0].copy() for _ in range(count)]
    return np.stack(rows)


def check(work, name, count, *options):
    sizes = "n_embd" if name == "gpt2" else "hidden_size"
    config = folders.CONFIGS[name] | {sizes: 96, "vocab_size": VOCABULARY}
    config |= {"n_positions" if name == "gpt2" else "max_position_embeddings": 2048}
    if name != "gpt2":
        config |= dict(intermediate_size=208)
    folder = work / (name + "".join(options))
    folders.write_folder(folder, config, folders.random_tensors(config, 1))
    rng = np.random.default_rng(1)
    prompt = rng.integers(0, VOCABULARY, 11).tolist()
    alone = None
    for batch, chunk, threads in CASES:
        others = [rng.integers(0, VOCABULARY, 2 + i % 20).tolist() for i in range(1, batch)]
        artifact = compile(folder, count + 32, batch, chunk, *options)
        rows = follow(artifact, [prompt, *others], chunk, threads, count).view(np.uint32)
        if alone is None:
            alone = rows
            assert len(np.unique(rows, axis=0)) > 9 * count // 10, f"{name}: logits repeat"
        differ = np.flatnonzero((rows != alone).any(1))
        assert not differ.size, (name, batch, chunk, "differs after token", differ[0])
    print("equal", name, *options, count, "tokens")


if __name__ == "__main__":
    for family in sys.argv[3:]:
        name, *options = family.split(",")
        check(Path(sys.argv[1]), name, int(sys.argv[2]), *options)
