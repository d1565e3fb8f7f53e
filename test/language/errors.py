"""Folders of language models that are wrong, and what fritc says: errors.py WORK"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import folders

work = Path(sys.argv[1])
TENSORS = folders.random_tensors(folders.CONFIGS["llama"], 1)


def fritc(folder, *options, emit="nn"):
    return subprocess.run(["fritc", folder, "-march=x86-64-v3", f"--emit={emit}", "-o",
                           work / "out.mlir", "-fshape=chunk=1", *options],
                          capture_output=True, text=True)


def fails(name, config, tensors, *messages, options=(), status=1, change=None):
    """Expects an error for a folder, with all of `messages`."""
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    if isinstance(config, dict):
        folders.write_folder(folder, config, tensors)
    else:
        folders.write_folder(folder, {}, tensors)
        (folder / "config.json").write_bytes(config)
    if change:
        change(folder)
    done = fritc(folder, *options)
    assert done.returncode == status, (name, done)
    assert "bug in frit" not in done.stderr, (name, done.stderr)
    for message in messages:
        assert message in done.stderr, f"{name}: no '{message}' in\n{done.stderr}"
    print(name)


def llama(**members):
    return folders.llama(**members)


def without(*keys):
    return {key: value for key, value in llama().items() if key not in keys}


# What the family and its switches must be.
fails("family", llama(model_type="mamba"), TENSORS, "family/config.json: ",
      "the model_type 'mamba' is not supported; these are: llama, mistral, ", "gpt2")
fails("architecture", llama(architectures=["LlamaForSequenceClassification"]), TENSORS,
      "the architecture 'LlamaForSequenceClassification' is not supported; of llama, "
      "LlamaForCausalLM is")
fails("rope", llama(**folders.rope(rope_type="mrope")), TENSORS,
      "the rope type 'mrope' is not supported; default, linear, dynamic, llama3, yarn and "
      "longrope are")
fails("activation", llama(hidden_act="gelu_10"), TENSORS,
      "the activation 'gelu_10' is not supported")
fails("type", llama(dtype="float8_e4m3fn"), TENSORS,
      '"dtype" is "float8_e4m3fn", not float32, float16 or bfloat16')
fails("direction", llama(use_bidirectional_attention=True), TENSORS, "the model is no decoder")

# Members.
fails("no-json", b"{", TENSORS, "no-json/config.json: is not JSON from 1:2 on")
fails("list", b"[1]", TENSORS, 'is no object with "model_type"')
fails("no-type", without("model_type"), TENSORS, 'lacks "model_type", a string')
for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
            "intermediate_size", "max_position_embeddings"):
    fails(f"no-{key}", without(key), TENSORS, f'lacks "{key}", a size from 1 on')
for value in (0, -1, 2.5, "32", [], 1 << 40, 1e99, True):
    fails("size", llama(hidden_size=value), TENSORS, f'"hidden_size" is {json.dumps(value)}, not a size')
fails("layers", llama(num_hidden_layers=100000), TENSORS,
      '"num_hidden_layers" is 100000; up to 1000 are supported')
fails("head", llama(head_dim=1 << 27), TENSORS,
      "heads have 134217728 elements; up to 4096 are supported")
fails("epsilon", llama(rms_norm_eps=0), TENSORS, '"rms_norm_eps" is 0, not a positive number')
for epsilon in (1e300, 1e-300):
    fails("epsilon", llama(rms_norm_eps=epsilon), TENSORS, "not a positive number")
fails("theta", llama(**folders.rope(rope_theta=1)), TENSORS,
      '"rope_theta" is 1, not a number above 1')
fails("factor", llama(**folders.rope(rope_type="linear")), TENSORS,
      'lacks "factor", a positive number')
fails("flag", llama(attention_bias="no"), TENSORS, '"attention_bias" is "no", not true or false')
fails("share", llama(num_key_value_heads=3), TENSORS,
      '4 heads of queries cannot share 3 of keys ("num_key_value_heads")')
fails("divide", llama(num_attention_heads=5, num_key_value_heads=1), TENSORS,
      '5 heads do not divide the hidden size of 32, and there is no "head_dim"')
fails("odd", llama(head_dim=7), TENSORS, "heads rotate 7 elements")
fails("rope-object", llama(rope_parameters=3), TENSORS, "is no object")
fails("long", folders.CONFIGS["phi3-long"] | folders.rope(
    rope_type="longrope", short_factor=[1, 2], long_factor=[1, 2, 3, 4]), TENSORS,
      '"short_factor" is [1,2], not a list of 4 positive numbers')
fails("layer-types", folders.CONFIGS["qwen2"] | dict(layer_types=["full_attention"]), TENSORS,
      '"layer_types" is no list with an entry for each of the 2 layers')
fails("layer-type", folders.CONFIGS["qwen2"] | dict(layer_types=["chunked_attention"] * 2),
      TENSORS, "neither full_attention nor sliding_attention")
fails("no-window", folders.CONFIGS["qwen2"] | dict(layer_types=["sliding_attention"] * 2,
                                                   sliding_window=None),
      TENSORS, '"sliding_window" is null')
fails("no-rope", folders.CONFIGS["smollm3"] | dict(no_rope_layers=[1]), TENSORS,
      '"no_rope_layers" is no list')

# Tensors.
some = dict(TENSORS)
del some["model.layers.1.mlp.up_proj.weight"]
fails("missing", llama(), some,
      "missing: lacks the tensor 'model.layers.1.mlp.up_proj.weight', 48x32")
fails("extra", llama(), TENSORS | {"model.layers.0.self_attn.q_proj.bias": np.zeros(32, np.float32)},
      "model.safetensors: has the tensor 'model.layers.0.self_attn.q_proj.bias', which a model of "
      "the family llama with this config.json does not have")
fails("extras", llama(), TENSORS | {f"x.{i:02}": np.zeros(1, np.float32) for i in range(20)},
      "'x.07'", "and 12 more")
fails("shape", llama(intermediate_size=64), TENSORS,
      "tensor 'model.layers.0.mlp.up_proj.weight' has the shape 48x32, but config.json says 64x32")
fails("integers", llama(), TENSORS | {"model.norm.weight": np.zeros(32, np.int64)},
      "tensor 'model.norm.weight' has elements of the type 'i64', not f32, f16 or bf16")


# Files.
def truncate(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def index(**members):
    def change(folder):
        (folder / "model.safetensors").rename(folder / "a.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps(members))
    return change


ALL = {name: "a.safetensors" for name in TENSORS}
fails("truncated", llama(), TENSORS, "truncated/model.safetensors: ", "lies at bytes",
      change=truncate)
fails("cut", llama(), TENSORS, "it is cut off, or no safetensors file",
      change=lambda folder: (folder / "model.safetensors").write_bytes(b"\x09\0\0\0\0\0\0\0{}"))
fails("gone", llama(), TENSORS, "b.safetensors: cannot be read: there is no such file",
      change=index(weight_map=ALL | {"model.norm.weight": "b.safetensors"}))
fails("outside", llama(), TENSORS,
      "the file of tensor 'model.norm.weight' is not one in the model's folder",
      change=index(weight_map=ALL | {"model.norm.weight": "../x.safetensors"}))
fails("mapless", llama(), TENSORS, 'has no "weight_map"', change=index(weights=ALL))
fails("not-there", llama(), TENSORS, "tensor 'y' is not in a.safetensors",
      change=index(weight_map=ALL | {"y": "a.safetensors"}))
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12345\n"
for name in ("config.json", "model.safetensors"):
    fails("lfs", llama(), TENSORS, f"lfs/{name}: is a pointer of Git LFS, not the file itself; "
          "`git lfs pull` fetches it", change=lambda folder: (folder / name).write_text(LFS))
fails("pickle", llama(), TENSORS, "has weights as pickles of Python and none as safetensors, which "
      "model.save_pretrained(FOLDER) of transformers writes",
      change=lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"))
fails("no-config", llama(), TENSORS, "has weights, but no config.json",
      change=lambda folder: (folder / "config.json").unlink())
fails("no-weights", llama(), TENSORS, "is the folder of a Hugging Face model, without a graph",
      change=lambda folder: (folder / "model.safetensors").unlink())



# What is read as transformers reads it.
def reads(name, config, tensors, change=None):
    """Returns the module of a folder and what was said."""
    folders.write_folder(work / name, config, tensors)
    if change:
        change(work / name)
    done = fritc(work / name)
    assert done.returncode == 0, (name, done)
    return (work / "out.mlir").read_text(), done.stderr


# An older index, of parts that are gone.
reads("older-index", llama(), TENSORS, lambda folder: (
    folder / "model.safetensors.index.json").write_text(json.dumps(dict(weight_map=ALL))))
# A head beside the embedding that it should be.
tied = llama(tie_word_embeddings=True)
module, said = reads("other-head", tied, TENSORS)
assert '"lm_head.weight"' in module and "the head differs from the embedding" in said, said
assert "config.json: " in said and "[-Wtied]" in said, said
module, said = reads("same-head", tied, TENSORS | {
    "lm_head.weight": TENSORS["model.embed_tokens.weight"]})
assert '"lm_head.weight"' not in module and "tied" not in said, said
# Only Phi 3 rotates a part of a head without another type of positions.
half = folders.rope(partial_rotary_factor=0.5)
whole, part = (reads(f"half-{name}", folders.CONFIGS[name] | half, folders.random_tensors(
    folders.CONFIGS[name], 1))[0] for name in ("llama", "phi3"))
assert whole.count("x1x4xf32>, tensor") and not part.count("x1x4xf32>, tensor")
reads("activation-name", llama(hidden_act="gelu_fast"), TENSORS)

# Options.
good = work / "good"
folders.write_folder(good, llama(), TENSORS)
for options, message in {
        ("--context=0",): "--context takes a number from 1 to 4194304, not '0'",
        ("--context=9999999",): "--context takes a number from 1 to 4194304",
        ("--batch=none",): "--batch takes a number from 1 to 65536, not 'none'",
        ("-fshape=batch=2",): "-fshape of a language model takes chunk=SIZES",
        ("-fstate=a:b",): "-fstate is not for a language model",
        ("-fbound=a:2",): "are not for a language model",
        ("-fprecision=amp-fp16",): "-fprecision=amp-fp16 is for training",
        ("-fentry=other=other.onnx",): "becomes the functions prefill and decode",
}.items():
    done = fritc(good, *options)
    assert done.returncode == 2 and message in done.stderr, (options, done)
done = fritc(good, emit="json")
assert done.returncode == 2 and "--emit=json writes one function" in done.stderr, done
done = subprocess.run(["fritc", "model.onnx", "--batch=4", "-o", work / "out.so"],
                      capture_output=True, text=True)
assert done.returncode == 2 and "--batch is for a language model" in done.stderr
for options, message in {
        ("-fshape=batch=2",): "-fshape with --context takes chunk=SIZES",
        ("-fstate=a:b",): "-fstate and -ftype are not for --context",
        ("-fprecision=amp-fp16",): "-fprecision=amp-fp16 is for training; --context takes fp32",
        ("-fentry=other=other.onnx",): "--context makes the functions prefill and decode",
        ("--emit=json",): "--context takes an ONNX model, without --train and --emit=json",
}.items():
    done = subprocess.run(["fritc", "model.onnx", "--context=64", *options, "-o",
                           work / "out.so"], capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr, (options, done)
done = fritc(good, "--context=129")
assert done.returncode == 0 and ("a context of 129 tokens exceeds the 128 that the model is for: it "
                                 "may write nonsense there [-Wcontext]") in done.stderr, done
folders.make(work, "gpt2")
done = fritc(work / "gpt2", "--context=129")
assert done.returncode == 1 and "it has no positions beyond them" in done.stderr, done
folders.make(work, "dynamic")
done = fritc(work / "dynamic", "--context=129")
assert done.returncode == 1 and "the rope type 'dynamic' is supported up to there" in done.stderr

# No output replaces an input.
done = subprocess.run(["fritc", good, "-march=x86-64-v3", "-fshape=chunk=1", "-fexternal-weights=" +
                       str(good / "model.safetensors"), "-o", work / "x.so"],
                      capture_output=True, text=True)
assert done.returncode != 0 and "model.safetensors" in done.stderr, done
assert (good / "model.safetensors").stat().st_size > 1000
print("all good")
