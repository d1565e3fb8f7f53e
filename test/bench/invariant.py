#!/usr/bin/env python3
"""The same tokens alone and among 31 others: invariant.py FOLDER [options]

Compiles a folder of a language model (or writes one of random weights, with --random=NAME) with
-fbatch-invariant, for one sequence and for --batch of them. A prompt is continued by --tokens greedy
tokens alone, and as one of several sequences of other lengths, whose prompts come in chunks of another
size. Tokens and bits of logits must be equal; exits with status 1 otherwise. Prints what a token takes
with the option and without.

    PYTHONPATH=build/dev/python test/bench/invariant.py --random=llama-1b -march=native
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import frit
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "language"))
import folders  # noqa: E402

#: Sizes of models whose speed has been published, with random weights.
SIZES = {
    "llama-1b": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                     num_attention_heads=32, num_key_value_heads=8, vocab_size=128256),
    "small": dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=2, vocab_size=331),
}


def write_random(name, folder):
    """Writes weights of 16 bits, a tensor at a time: bf16 are the upper halves of f32."""
    config = folders.CONFIGS["llama"] | SIZES[name] | dict(dtype="bfloat16",
                                                           max_position_embeddings=8192)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(1)

    def make(shape):
        value = rng.standard_normal(shape, dtype=np.float32)
        # Scores and sums of about 1 in every layer.
        value = 1 + value / 10 if len(shape) == 1 else value / np.sqrt(shape[-1])
        return (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    folders.write_bf16(folder / "model.safetensors", folders.shapes(config), make)


def compile(options, work, batch, chunk, *more):
    artifact = work / f"{batch}{''.join(more)}.so"
    start = time.time()
    subprocess.run(["fritc", f"{options.folder}/", f"-march={options.march}",
                    f"--context={options.prompt + options.tokens}", f"--batch={batch}",
                    f"-fshape=chunk={chunk}", *options.flags, *more, "-o", artifact],
                   check=True, stderr=subprocess.DEVNULL)
    print(f"compiled for {batch} in {time.time() - start:.1f} s", *more)
    return artifact


def follow(options, artifact, prompts, chunk):
    """Returns the first sequence's logits after its prompt and each token, and seconds a token where
    the device chooses the tokens."""
    module = frit.load(artifact, device=options.device)
    prefill, decode = module.function("prefill"), module.function("decode")
    for at in range(0, max(map(len, prompts)), chunk):
        parts = [prompt[at:at + chunk] for prompt in prompts]
        tokens = np.array([part + [0] * (chunk - len(part)) for part in parts], np.int32)
        logits = np.array(prefill(tokens, np.array([len(part) for part in parts], np.int32)))
        if parts[0]:
            rows = [logits[0].copy()]
    rows += [np.array(decode())[0].copy() for _ in range(options.tokens)]
    with frit.Session(module) as session:
        for i, prompt in enumerate(prompts):
            session.prefill(prompt, i)
        warm = min(10, options.tokens // 2)
        session.decode(warm)
        start = time.time()
        session.decode(options.tokens - warm)
        seconds = (time.time() - start) / (options.tokens - warm)
    return np.stack(rows), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--random", choices=SIZES, help="write such a model instead")
    parser.add_argument("-march", "--march", default="native")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--prompt", type=int, default=200, help="tokens of the first prompt")
    parser.add_argument("--flags", default=[], nargs="*", help="options of fritc, as -fweights=int4")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if options.random:
            options.folder = work / options.random
            write_random(options.random, options.folder)
        vocabulary = json.loads((options.folder / "config.json").read_text())["vocab_size"]
        rng = np.random.default_rng(1)
        first = rng.integers(0, vocabulary, options.prompt).tolist()
        others = [rng.integers(0, vocabulary, 1 + (7 + 37 * i) % options.prompt).tolist()
                  for i in range(1, options.batch)]
        seconds = {}
        found = {}
        for flags in ([], ["-fbatch-invariant"]):
            for prompts, chunk in (([first], min(512, options.prompt)), ([first, *others], 16)):
                artifact = compile(options, work, len(prompts), chunk, *flags)
                key = len(prompts), bool(flags)
                found[key], seconds[key] = follow(options, artifact, prompts, chunk)
                artifact.unlink()
    for count in (1, options.batch):
        plain, held = seconds[count, False], seconds[count, True]
        print(f"{count} sequences: {1e3 * plain:.3f} ms a token, {1e3 * held:.3f} with "
              f"-fbatch-invariant ({100 * (held / plain - 1):+.1f}%)")
    status = 0
    for held in (False, True):
        alone, among = found[1, held], found[options.batch, held]
        tokens = np.flatnonzero(alone.argmax(1) != among.argmax(1))
        bits = np.flatnonzero((alone.view(np.uint32) != among.view(np.uint32)).any(1))
        name = "with -fbatch-invariant" if held else "without"
        print(f"{name}: tokens " + (f"differ from {tokens[0]} on" if tokens.size else "equal") +
              ", bits " + (f"differ from {bits[0]} on" if bits.size else "equal"))
        status |= held and bool(tokens.size or bits.size)
    sys.exit(status)


if __name__ == "__main__":
    main()
