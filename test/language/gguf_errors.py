"""GGUF files that are wrong, and what fritc says: gguf_errors.py WORK"""
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gguf"))
import convert  # noqa: E402
import folders  # noqa: E402
import gguf_file  # noqa: E402

work = Path(sys.argv[1])
CONFIG = folders.CONFIGS["llama"]
TENSORS = folders.random_tensors(CONFIG, 1)
GOOD = convert.convert(CONFIG, TENSORS)


def fails(name, data, *messages, options=(), status=1):
    model = work / f"{name}.gguf"
    model.write_bytes(data)
    done = subprocess.run(["fritc", model, "-march=x86-64-v3", "--emit=nn", "-fshape=chunk=1",
                           "-o", work / "out.mlir", *options], capture_output=True, text=True)
    assert done.returncode == status, (name, done)
    assert "bug in frit" not in done.stderr, (name, done.stderr)
    for message in messages:
        assert message in done.stderr, f"{name}: no '{message}' in\n{done.stderr}"
    print(name)


def keys(name, *messages, **changes):
    """Keys of the architecture, with __ for a point."""
    model = {"general.architecture": "llama"} | {
        "llama." + key.replace("__", "."): value for key, value in changes.items()}
    fails(name, convert.convert(CONFIG, TENSORS, changes=model), f"{name}.gguf: ", *messages)


def tensors(name, changed, *messages, config=CONFIG, **options):
    own = {key: value for key, value in (TENSORS | changed).items() if value is not None}
    fails(name, convert.convert(config, own, **options), f"{name}.gguf: ", *messages)


def header(name, *messages, change=(b"", b""), **options):
    fails(name, gguf_file.make(**options).replace(*change), "cannot be read: ", *messages)


# Every way to cut it off.
for size in range(4, len(GOOD) - 32, len(GOOD) // 40):
    fails(f"cut-{size}", GOOD[:size], "cannot be read: it is truncated: ")
fails("version", GOOD[:4] + struct.pack("<I", 1) + GOOD[8:],
      "its version is 1; 2 and 3 are supported")
fails("endian", GOOD[:4] + struct.pack(">I", 3) + GOOD[8:], "it is big-endian")
fails("count", GOOD[:8] + struct.pack("<Q", 1 << 60) + GOOD[16:],
      "it should have 1152921504606846976 tensors after byte")
fails("pairs", GOOD[:16] + struct.pack("<Q", 1 << 61) + GOOD[24:],
      "it should have 2305843009213693952 key-values after byte 24")
header("alignment", "general.alignment is no multiple of 8", values={"general.alignment": 12})
header("rank", "tensor 'x' has 5 dimensions; 1 to 4 are possible", values={},
       tensors={"x": (0, (1,) * 5, bytes(4))})
header("unknown-type", "tensor 'x' has type 99, which is unknown", values={},
       tensors={"x": (99, (1,), bytes(4))})
header("block", "tensor 'x' has rows of 33 weights, but Q4_0 stores 32 together", values={},
       tensors={"x": (2, (33,), bytes(18))})
header("huge", "it is truncated: tensor 'x' does not lie in", values={},
       tensors={"x": (0, (1 << 40, 1 << 40), b"")})
pair = gguf_file.pair("a", 1)
fails("twice", b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pair + pair,
      "it has key 'a' twice")
fails("value", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_file.text("a") +
      struct.pack("<IQ", 77, 0), "key 'a' has a value of type 77, which is none")
fails("arrays", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_file.text("a") +
      struct.pack("<IIQ", 9, 9, 0), "key 'a' is an array of arrays, which is not supported")
fails("no-architecture", gguf_file.make({"a": 1}), "lacks the key 'general.architecture'")
fails("architecture", gguf_file.make({"general.architecture": "mamba"}),
      "the architecture 'mamba' is not supported; llama, qwen2, ")
for name, part, key in (
        ("qwen3moe", "experts", {"expert_count": 4}),
        ("mamba", "state spaces", {"ssm.state_size": 16}),
        ("rwkv7", "recurrences of RWKV", {"wkv.head_size": 64}),
        ("deepseek2", "experts, latent attention",
         {"expert_count": 2, "attention.kv_lora_rank": 16}),
        ("mpt", "scores by distance (ALiBi)", {"attention.max_alibi_bias": 8.0}),
        ("gptneox", "attention beside the feed-forward part", {"use_parallel_residual": True}),
        ("bert", "attention in both directions", {"attention.causal": False}),
        ("t5", "an encoder", {"attention.relative_buckets_count": 32})):
    fails(f"is-{name}", gguf_file.make({"general.architecture": name} | {
        f"{name}.{end}": value for end, value in key.items()}),
        f"the architecture '{name}' is not supported, nor are {part}; llama, qwen2, ")
for kind in ("adapter", "mmproj"):
    fails(kind, convert.convert(CONFIG, TENSORS, values={"general.type": kind}),
          f"{kind}.gguf: is no model: the key 'general.type' is '{kind}'")
fails("tokens", convert.convert(CONFIG, TENSORS, values={
    "general.type": "model", "tokenizer.ggml.tokens": [str(i) for i in range(70)]}),
    "the vocabulary has 70 tokens, but the tensor 'token_embd.weight' only 61 rows")
keys("vocabulary", "the vocabulary has 62 tokens, but", vocab_size=62)
keys("missing-key", "lacks the key 'llama.block_count'", block_count=None)
keys("text-key", "the key 'llama.context_length' is no number from 1 to", context_length="many")
keys("zero", "the key 'llama.attention.head_count' is no number from 1 to",
     attention__head_count=0)
keys("epsilon", "the key 'llama.attention.layer_norm_rms_epsilon' is missing, or not above 0",
     attention__layer_norm_rms_epsilon=None)
keys("groups", "4 heads of queries cannot share 3 of keys", attention__head_count_kv=3)
keys("layered", "the key 'llama.attention.head_count_kv' differs from layer to layer",
     attention__head_count_kv=[2, 1])
keys("layers", "5000 layers; up to 4096 are supported", block_count=5000)
keys("few", "1000 layers, but only 21 tensors", block_count=1000)
keys("experts", "the model has experts, which is not supported", expert_count=8)
keys("values", "keys and values differ in size", attention__value_length=16)
keys("rotary", "heads of 8 elements rotate 7, which is not possible", rope__dimension_count=7)
keys("part", "only a part of each head rotates, which is not supported",
     rope__dimension_count=4)
keys("scaling", "the key 'llama.rope.scaling.type' is not supported; none, linear, yarn and "
     "longrope are", rope__scaling__type="dynamic")
keys("long", "the file has not both of 'rope_factors_long.weight' and",
     rope__scaling__type="longrope")
keys("size", "lacks the tensor 'blk.0.attn_q.weight' of 64 rows", attention__key_length=16,
     attention__value_length=16, rope__dimension_count=16)

layer = "model.layers.1."
tensors("embedding", {"model.embed_tokens.weight": None},
        "lacks the tensor 'token_embd.weight' of two dimensions")
tensors("missing", {layer + "self_attn.v_proj.weight": None},
        "lacks the tensor 'blk.1.attn_v.weight', 16x32")
tensors("shape", {layer + "mlp.up_proj.weight": np.zeros((48, 31), np.float32)},
        "tensor 'blk.1.ffn_up.weight' has the shape 48x31, but the keys say 48x32")
tensors("extra", {layer + "self_attn.q_norm.weight": np.zeros(8, np.float32)},
        "has the tensor 'blk.1.attn_q_norm.weight', which a model of the architecture llama")
wide = folders.llama(hidden_size=256, intermediate_size=256, num_hidden_layers=1)
name = "model.layers.0.mlp.up_proj.weight"
fails("type", convert.convert(wide, folders.random_tensors(wide, 1),
                              raw={name: (10, bytes(256 * 84))}),
      "tensor 'blk.0.ffn_up.weight' has the type Q2_K, which is not supported; F32, ")
fails("vector", convert.convert(CONFIG, TENSORS).replace(
    gguf_file.text("output_norm.weight") + struct.pack("<IQI", 1, 32, 0),
    gguf_file.text("output_norm.weight") + struct.pack("<IQI", 1, 32, 8)),
      "tensor 'output_norm.weight' of one dimension has the type Q8_0, which is for matrices")
llama3 = folders.CONFIGS["llama3"]
fails("factors", convert.convert(llama3, folders.random_tensors(llama3, 1)).replace(
    gguf_file.text("rope_freqs.weight") + struct.pack("<IQ", 1, 8),
    gguf_file.text("rope_freqs.weight") + struct.pack("<IQ", 1, 7)),
      "the tensor 'rope_freqs.weight' has not one f32 for each of 8 pairs")
gemma3 = folders.CONFIGS["gemma3"]
fails("window", convert.convert(gemma3, folders.random_tensors(gemma3, 1), changes={
    "gemma3.attention.sliding_window": None}), "lacks the key 'gemma3.attention.sliding_window'")
header("overlap", "tensors 'x' and 'y' overlap", values={},
       tensors={"x": (0, (9,), bytes(36)), "z": (0, (0,), b""), "y": (0, (8,), bytes(32))},
       change=(struct.pack("<IQ", 0, 64), struct.pack("<IQ", 0, 32)))


def parts(name, *messages, change=None, named="model-{:05}-of-00003.gguf", given=1):
    """A model in three files, of which `change` changes one."""
    (work / name).mkdir()
    made = convert.convert(CONFIG, TENSORS, files=3)
    if change:
        change(made)
    for i, data in enumerate(made):
        if data is not None:
            (work / name / named.format(i + 1)).write_bytes(data)
    fails(f"{name}/{named.format(given)[:-5]}", made[given - 1], *messages)


def put(number, place, what):
    def change(made):
        made[number] = made[place] if what is None else made[number].replace(*what)
    return change


def lose(made):
    made[2] = None


def repeat(made):
    first, second = (next(name for part in "qkv" if (name := f"blk.0.attn_{part}.weight".encode())
                          in data) for data in made[:2])
    made[1] = made[1].replace(second, first)


parts("split-second", "is file 2 of 3; give the first one, whose name ends in "
      "'-00001-of-00003.gguf'", given=2)
parts("split-name", "but its name does not end in '-00001-of-00003.gguf'", named="m{}.gguf")
parts("split-lost", "model-00003-of-00003.gguf: cannot be read: No such file", change=lose)
parts("split-order", "model-00003-of-00003.gguf: does not say that it is file 3 of 3",
      change=put(2, 1, None))
parts("split-twice", "model-00002-of-00003.gguf: has the tensor 'blk.0.attn_",
      "', as has a file before it", change=repeat)
parts("split-count", "says that the 3 files have 20 tensors, but they have 21",
      change=put(0, 0, (gguf_file.pair("split.tensors.count", (gguf_file.I32, 21)),
                        gguf_file.pair("split.tensors.count", (gguf_file.I32, 20)))))
fails("context", GOOD, "exceeds", options=["--context=1000"], status=0)
