"""Compiles folders of quantised language models, and of the numbers that their weights stand for,
and compares the logits: quantized.py WORK NAME..."""
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

import folders
import quantized_formats as formats
from emulated import emulate
from generate import Generator

CONTEXT = 64

SIZES = dict(hidden_size=64, intermediate_size=96)
GPTQ = dict(quant_method="gptq", bits=4, group_size=32, desc_act=False, checkpoint_format="gptq")
AWQ = dict(quant_method="awq", bits=4, group_size=32, version="gemm", zero_point=True)
FP8 = dict(quant_method="fp8", weight_block_size=[128, 128], activation_scheme="dynamic")


def compressed(format, bits=4, type="int", **weights):
    return dict(quant_method="compressed-tensors", format=format, ignore=["lm_head"],
                config_groups=dict(group_0=dict(targets=["Linear"], weights=dict(
                    num_bits=bits, type=type, **weights))))


PACKED = compressed("pack-quantized", group_size=32)
BYTES = compressed("int-quantized", bits=8)
FLOATS = compressed("float-quantized", bits=8, type="float")

#: What config.json says, what makes a module's tensors, the code and whether there are offsets.
CASES = {
    "gptq": (GPTQ, formats.gptq, "int4", True),
    "gptq-symmetric": (GPTQ, partial(formats.gptq, symmetric=True), "int4", False),
    "gptq-v2": (GPTQ | dict(checkpoint_format="gptq_v2"), partial(formats.gptq, version=2),
                "int4", True),
    "gptq-8": (GPTQ | dict(bits=8, group_size=-1), partial(formats.gptq, bits=8, group=-1),
               "int8", True),
    "gptq-2": (GPTQ | dict(bits=2), partial(formats.gptq, bits=2), "int4", True),
    "gptq-2-symmetric": (GPTQ | dict(bits=2), partial(formats.gptq, bits=2, symmetric=True),
                         "int4", False),
    "gptq-uneven": (GPTQ | dict(group_size=64), partial(formats.gptq, group=64), "int4", True),
    "gptq-order": (GPTQ | dict(desc_act=True), partial(formats.gptq, shuffled=True), "int4", True),
    "gptq-gpt2": (GPTQ, partial(formats.gptq, shuffled=True), "int4", True),
    "gptq-qwen2": (GPTQ, formats.gptq, "int4", True),  # biases, zeros and others
    "awq": (AWQ, formats.awq, "int4", True),
    "awq-phi3": (AWQ, formats.awq, "int4", True),  # joined products
    "packed": (PACKED, formats.packed, "int4", False),
    "packed-zeros": (PACKED, partial(formats.packed, zeros="packed"), "int4", True),
    "packed-zero-bytes": (PACKED, partial(formats.packed, zeros="bytes"), "int4", True),
    "packed-order": (PACKED, partial(formats.packed, shuffled=True), "int4", False),
    "packed-8": (compressed("pack-quantized", bits=8, group_size=-1),
                 partial(formats.packed, bits=8, group=-1), "int8", False),
    "bytes": (BYTES, formats.integers, "int8", False),
    "bytes-zeros": (BYTES, partial(formats.integers, zeros=True), "int8", True),
    "floats-rows": (FLOATS, partial(formats.floats, by="rows", scale="weight_scale"), "e4m3", False),
    "floats-one": (FLOATS, partial(formats.floats, by="one", scale="weight_scale",
                                   type=np.float16), "e4m3", False),
    "fp8": (FP8, formats.floats, "e4m3", False),
    "fp8-large": (FP8, formats.floats, "e4m3", False),
    "fbgemm": (dict(quant_method="fbgemm_fp8"), partial(formats.floats, by="list",
                                                        scale="weight_scale"), "e4m3", False),
    "modelopt": (dict(quant_method="modelopt", quant_algo="FP8"),
                 partial(formats.floats, by="scalar", scale="weight_scale"), "e4m3", False),
}


#: Those whose CUDA text is run, too: tiles of codes with f32 offsets, sorted columns, blocks.
EMULATED = {"gptq-order", "fp8-large"}


def config_of(name):
    if name == "gptq-gpt2":
        return folders.CONFIGS["gpt2"]
    if name in ("gptq-qwen2", "awq-phi3"):
        return folders.CONFIGS[name.split("-")[1]] | SIZES
    if name == "fp8-large":  # several blocks; 192 columns are one and a half
        return folders.llama(hidden_size=192, intermediate_size=320, num_hidden_layers=1)
    if name == "gptq-order":  # with a quantised head
        return folders.llama(**SIZES, vocab_size=64)
    return folders.llama(**SIZES)


def write(work, name):
    """Writes the folder and that of plain numbers."""
    scheme, make, _, _ = CASES[name]
    config = config_of(name)
    isGpt2 = config["model_type"] == "gpt2"
    seed = sum(map(ord, name))
    rng = np.random.default_rng(seed)
    plain, stored = folders.random_tensors(config, seed), {}
    for key, value in list(plain.items()):
        module, _, part = key.rpartition(".")
        isProduct = value.ndim == 2 and (module.endswith("_proj") or ".c_" in module
                                         or module == "lm_head" and config["vocab_size"] == 64)
        if not isProduct or part != "weight":
            stored.setdefault(key, value)
            continue
        shape = value.shape[::-1] if isGpt2 else value.shape
        made, numbers = make(rng, *shape)
        assert numbers.shape == shape and 0.02 < numbers.std() < 1, (name, key, numbers.std())
        if f"{module}.bias" in plain:
            made.pop("bias", None)
        stored |= {f"{module}.{own}": tensor for own, tensor in made.items()}
        plain[key] = np.ascontiguousarray(numbers.T if isGpt2 else numbers).astype(np.float32)
    folders.write_folder(work / name, config | dict(quantization_config=scheme), stored)
    folders.write_folder(work / f"{name}-plain", config, plain)


def logits(work, name, prompt):
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", work / name, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,8", "-o", artifact], check=True)
    return Generator(artifact, threads=2).feed([prompt], 8)[0]


def check_codes(work, name):
    """The file has codes, with offsets if need be."""
    _, _, code, hasOffsets = CASES[name]
    text = subprocess.run(["fritc", work / name, "-march=x86-64-v3", "-fshape=chunk=1",
                           "--emit=nn", "-o", "-"], check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if "nn.dequantize" in line]
    assert lines and all(f'"{code}"' in line for line in lines), (name, lines[:1])
    assert (".offsets" in text) == hasOffsets, name


if __name__ == "__main__":
    work = Path(sys.argv[1])
    for name in sys.argv[2:]:
        write(work, name)
        prompt = np.random.default_rng(5).integers(0, 61, 19).tolist()
        got, expected = logits(work, name, prompt), logits(work, f"{name}-plain", prompt)
        error = np.abs(got - expected).max() / np.abs(expected).max()
        assert error < 1e-5, f"{name}: logits are {error} off"
        check_codes(work, name)
        if name in EMULATED:
            emulate(work / name, ["decode"], "-fprecision=bf16", f"--context={CONTEXT}",
                    "-fshape=chunk=1", rtol="3e-2")
        print(name, "equal:", error, flush=True)
