"""Forms of the files, batches and types: forms.py WORK

The same model in several files, without the usual prefix, with tensors that old files have, in
bf16, within a model with images, and for several sequences of different lengths.
"""
import subprocess
import sys
import warnings
from pathlib import Path

import frit
import numpy as np

import folders
from generate import Generator
from reference import Decoder

CONTEXT = 48
work = Path(sys.argv[1])
rng = np.random.default_rng(3)
PROMPT = rng.integers(0, 61, 11).tolist()


def compile(folder, *options):
    artifact = folder.with_suffix(".so")
    subprocess.run(["fritc", f"{folder}/", "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,8", *options, "-o", artifact], check=True)
    return artifact


def tokens(folder, *options):
    return Generator(compile(folder, *options), threads=2).generate([PROMPT], 20, 8)[0]


config = folders.CONFIGS["llama"]
weights = folders.random_tensors(config, 1)
folders.write_folder(work / "one", config, weights)
wanted = Decoder(work / "one", CONTEXT).generate(PROMPT, 20)
assert tokens(work / "one") == wanted

folders.write_folder(work / "several", config, weights, files=3)
assert tokens(work / "several") == wanted

bare = {name.removeprefix("model."): value for name, value in weights.items()}
bare["layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(4, np.float32)
folders.write_folder(work / "bare", config, bare)
assert tokens(work / "bare") == wanted

folders.write_folder(work / "external", config, weights)
external = tokens(work / "external", "-fexternal-weights")
assert external == wanted and (work / "external.safetensors").exists()

with warnings.catch_warnings():
    warnings.simplefilter("error")
    frit.compile(work / "one", work / "python.so", march="x86-64-v3",
                 options=[f"--context={CONTEXT}", "-fshape=chunk=8"])
assert Generator(work / "python.so").generate([PROMPT], 20, 8)[0] == wanted
print("files equal")

# f32 on the cpu, whatever the files have; -fprecision computes in fewer bits.
half = {name: folders.narrow(value) for name, value in weights.items()}
narrow = dict(config, dtype=None, torch_dtype="bfloat16")
folders.write_folder(work / "bf16", narrow, half)
decoder = Decoder(work / "bf16", CONTEXT)
assert tokens(work / "bf16") == decoder.generate(PROMPT, 20)
wide = decoder.logits(PROMPT)
for precision, bound in {"bf16": 0.1, "fp16": 0.02, "fp32": 1e-5}.items():
    logits = Generator(compile(work / "bf16", f"-fprecision={precision}"),
                       threads=2).feed([PROMPT], 8)[0]
    error = np.abs(logits - wide).max() / np.abs(wide).max()
    assert error < bound, (precision, error)
folders.write_folder(work / "untyped", dict(config, dtype=None), half)
assert tokens(work / "untyped") == decoder.generate(PROMPT, 20)
print("types close")

# The text part of a model with images: its own object, prefixes, tensors of images.
text = folders.CONFIGS["gemma3"]
own = folders.random_tensors(text, 2)
whole = dict(model_type="gemma3", architectures=["Gemma3ForConditionalGeneration"],
             text_config=text, vision_config={}, tie_word_embeddings=True)
for prefix in ("language_model.model.", "model.language_model."):
    parts = {prefix + name.removeprefix("model."): value for name, value in own.items()}
    parts["vision_tower.patch.weight"] = np.ones((4, 4), np.float32)
    parts["multi_modal_projector.weight"] = np.ones((4, 4), np.float32)
    folders.write_folder(work / "images", whole, parts)
    folders.write_folder(work / "text", text, own)
    assert tokens(work / "images") == Decoder(work / "text", CONTEXT).generate(PROMPT, 20)
print("images equal")

# Sequences of different lengths: a shorter one waits while a longer one goes on.
prompts = [rng.integers(0, 61, size).tolist() for size in (3, 17, 8)]
decoder = Decoder(work / "one", CONTEXT)
each = [decoder.generate(prompt, 20) for prompt in prompts]
generator = Generator(compile(work / "one", "--batch=3"), threads=2)
for chunk in (8, 5):
    got = generator.generate(prompts, 20, chunk)
    assert got == each, (chunk, got, each)
assert generator.state("length").tolist() == [3 + 19, 17 + 19, 8 + 19]

# Prefill goes on after decode, and length takes tokens back.
generator.reset()
generator.feed(prompts, 8)
generator.decode()
generator.prefill.write_state({"length": np.array([3, 17, 8], np.int32)})
more = [[1, 2], [3], [4, 5, 6, 7]]
logits = generator.feed(more, 4)
for row, prompt, part in zip(logits, prompts, more):
    wanted = decoder.logits(prompt + part)
    assert np.abs(row - wanted).max() < 1e-4 * np.abs(wanted).max()
print("batches equal")

# Tokens and counts are checked.
for ids, count, message in (([[61]], [1], "vocabulary"), ([[-1]], [1], "vocabulary"),
                            ([[1]], [2], "tokens")):
    try:
        Generator(compile(work / "one")).prefill(np.array(ids, np.int32), np.array(count, np.int32))
    except Exception as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"{ids} and {count} were taken")
print("all good")
