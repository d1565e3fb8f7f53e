"""Compiles GGUF files of random language models and compares what they generate with NumPy:
gguf.py WORK [NAME|TYPE]..."""
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gguf"))
import convert  # noqa: E402
import definition  # noqa: E402
import folders  # noqa: E402
from generate import Generator  # noqa: E402
from reference import Decoder  # noqa: E402

CONTEXT, COUNT = 96, 24


def check_codes(work, name, model, prompt, expected):
    """16-bit values, whose matrices stay codes: logits up to the roundings of bf16."""
    artifact = work / f"{name}.bf16.so"
    subprocess.run(["fritc", model, "-march=x86-64-v3", f"--context={CONTEXT}", "-fprecision=bf16",
                    "-fshape=chunk=1,8", "-o", artifact], check=True)
    logits = Generator(artifact, threads=2).feed([prompt], 8)[0]
    error = np.linalg.norm(logits - expected) / np.linalg.norm(expected)
    assert error < 3e-2, f"{name}: logits of codes are {error} off"


def check(work, name, config, tensors, **options):
    folders.write_folder(work / name, config, tensors)
    model, artifact = work / f"{name}.gguf", work / f"{name}.so"
    made = convert.convert(config, tensors, **options)
    if files := options.get("files"):
        parts = [work / f"{name}-{i + 1:05}-of-{files:05}.gguf" for i in range(files)]
        for model, data in zip(reversed(parts), reversed(made)):
            model.write_bytes(data)
    else:
        model.write_bytes(made)
    subprocess.run(["fritc", model, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,8", "-o", artifact], check=True)
    prompt = np.random.default_rng(5).integers(0, 61, 19).tolist()
    expected = Decoder(work / name, CONTEXT)
    generator = Generator(artifact, threads=2)
    logits = generator.feed([prompt], 8)[0]
    error = np.abs(logits - expected.logits(prompt)).max() / np.abs(logits).max()
    assert error < 1e-4, f"{name}: logits are {error} off"
    if "raw" in options:
        check_codes(work, name, model, prompt, expected.logits(prompt))
    tokens = expected.generate(prompt, COUNT)
    got = generator.generate([prompt], COUNT, 8)[0]
    assert got == tokens, f"{name}: {got}, not {tokens}"
    print(name, "equal,", len(set(tokens)), "different tokens", flush=True)


def check_type(work, name):
    """A model whose matrices are blocks of any bits."""
    config = folders.llama(hidden_size=256, intermediate_size=256, num_hidden_layers=1)
    tensors = folders.random_tensors(config, 3)
    number, weights, _ = definition.TYPES[name]
    rng, raw = np.random.default_rng(number), {}
    for key, value in tensors.items():
        if value.ndim == 2:
            scale = 0.7 if "embed" in key else 0.1
            data = definition.random_blocks(name, value.size // weights, rng, scale)
            raw[key] = number, data
            tensors[key] = definition.numbers(name, data).reshape(value.shape)
            assert 0.2 * scale < tensors[key].std() < 5 * scale, (name, tensors[key].std())
    check(work, name, config, tensors, raw=raw)


def family(name):
    """A folder's configuration, as far as GGUF files can say it."""
    config = folders.CONFIGS[name]
    if name == "yarn":  # files have no key for the activation
        return config | dict(hidden_act="silu")
    if name == "gpt2":
        return config | dict(scale_attn_by_inverse_layer_idx=False)
    if name == "gemma2":
        return config | dict(query_pre_attn_scalar=16)
    if name == "smollm3":  # each fourth layer has no positions
        return config | dict(num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])
    if name == "gemma3":  # each sixth layer sees all
        return config | dict(
            query_pre_attn_scalar=16, num_hidden_layers=6,
            layer_types=["sliding_attention"] * 5 + ["full_attention"])
    return config


if __name__ == "__main__":
    work = Path(sys.argv[1])
    for name in sys.argv[2:]:
        if name in definition.TYPES:
            check_type(work, name)
        elif name == "split":
            config = family("qwen3")
            check(work, name, config, folders.random_tensors(config, 5), files=3)
        else:
            config = family(name)
            tensors = folders.random_tensors(config, sum(map(ord, name)))
            check(work, name, config, tensors)
