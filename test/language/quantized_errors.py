"""Folders of quantised language models that are wrong, and what fritc says: quantized_errors.py WORK"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import folders
import quantized
import quantized_formats as formats

work = Path(sys.argv[1])
MODULE = "model.layers.0.self_attn.q_proj"
CONFIG = folders.llama(**quantized.SIZES, num_hidden_layers=1)
PLAIN = folders.random_tensors(CONFIG, 1)


def tensors_of(make):
    """A model one of whose products is quantised."""
    made, _ = make(np.random.default_rng(3), *PLAIN[f"{MODULE}.weight"].shape)
    plain = {name: value for name, value in PLAIN.items() if name != f"{MODULE}.weight"}
    return plain | {f"{MODULE}.{name}": value for name, value in made.items()}


def run(scheme, tensors, change=None):
    folder = work / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    config = CONFIG if scheme is None else CONFIG | dict(quantization_config=scheme)
    folders.write_folder(folder, config, tensors)
    if change:
        change(folder)
    done = subprocess.run(["fritc", folder, "-march=x86-64-v3", "--emit=nn", "-fshape=chunk=1",
                           "-o", work / "out.mlir"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done
    assert "bug in frit" not in done.stderr, done.stderr
    return done


def fails(scheme, tensors, *messages, change=None):
    done = run(scheme, tensors, change)
    assert done.returncode == 1, done
    for message in messages:
        assert message in done.stderr, f"no '{message}' in\n{done.stderr}"


GPTQ, AWQ, PACKED = quantized.GPTQ, quantized.AWQ, quantized.PACKED
BYTES, FLOATS, FP8 = quantized.BYTES, quantized.FLOATS, quantized.FP8
gptq, awq, packed = (tensors_of(make) for make in (formats.gptq, formats.awq, formats.packed))
integers, floats = tensors_of(formats.integers), tensors_of(formats.floats)
compressed = quantized.compressed

# What "quantization_config" says.
for scheme, message in (
        (dict(quant_method="bitsandbytes", load_in_4bit=True),
         'the weights are quantised by bitsandbytes ("quant_method"), which is not '
         "supported; gptq, awq, compressed-tensors, fp8, fbgemm_fp8 and modelopt are"),
        (dict(bits=4), "the weights are quantised by an unnamed method"),
        ([1], '"quantization_config" is no object'),
        (GPTQ | dict(bits=3), '"bits" is 3; 2, 4 and 8 are supported'),
        (dict(quant_method="gptq"), 'lacks "bits", a size from 1 on'),
        (GPTQ | dict(group_size=0), '"group_size" is 0; sizes and -1 are supported'),
        (GPTQ | dict(group_size="all"), '"group_size" is "all"; sizes and -1 are supported'),
        (GPTQ | dict(checkpoint_format="marlin"),
         '"checkpoint_format" is marlin; gptq and gptq_v2 are supported'),
        (AWQ | dict(bits=8), '"bits" is 8; 4 is supported'),
        (AWQ | dict(version="gemv"), '"version" is gemv; gemm is supported'),
        (compressed("nvfp4-pack-quantized"), '"format" is nvfp4-pack-quantized; pack-quantized, '),
        (compressed("pack-quantized", bits=3), "has weights of the type int with 3 bits; int with "
         "2, 4 and 8 and float with 8 are supported"),
        (compressed("float-quantized", bits=4, type="float"), "of the type float with 4 bits"),
        (PACKED | dict(sparsity_config=dict(format="sparse-24-bitmask")),
         '"sparsity_config" is sparse-24-bitmask; dense is supported'),
        (PACKED | dict(transform_config=dict(config_groups=dict(a=1))),
         '"transform_config" is not supported'),
        (PACKED | dict(config_groups=[1]), '"config_groups" is no object'),
        (FP8 | dict(weight_block_size=[128, 0]), "the sizes of blocks are [128,0], not rows and"),
        (dict(quant_method="modelopt", quant_algo="NVFP4"), '"quant_algo" is NVFP4; FP8 is')):
    fails(scheme, PLAIN, "folder/config.json: ", message)

# Codes that nothing explains.
fails(None, gptq, f"model.safetensors: tensor '{MODULE}.qweight' has codes, but config.json has no "
      '"quantization_config" that says how')
fails(FP8, gptq, f"tensor '{MODULE}.qweight' has codes, but")
fails(None, floats, f"tensor '{MODULE}.input_scale'")

def older(text):
    """What AutoGPTQ wrote beside config.json."""
    return lambda folder: (folder / "quantize_config.json").write_text(text)


for text, message in (("{", "is not JSON from 1:2 on"), ("[1]", "is no object"),
                      (json.dumps(GPTQ | dict(bits=3)), '"bits" is 3; 2, 4 and 8 are supported')):
    fails(None, gptq, "folder/quantize_config.json: ", message, change=older(text))
done = run(None, gptq, older(json.dumps(dict(bits=4, group_size=32, desc_act=False))))
assert done.returncode == 0, done


def rename_type(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b"F8_E4M3", b"F8_E5M2"))


fails(FP8, floats, f"model.safetensors: tensor '{MODULE}.weight' has elements of the type 'f8E5M2', "
      "not f32, f16, bf16, f8E4M3FN or i8", change=rename_type)

# Numbers that cannot be.
for scheme, tensors, name in ((GPTQ, gptq, "scales"), (FP8, floats, "weight_scale_inv")):
    bad = tensors[f"{MODULE}.{name}"].copy()
    bad.flat[-1] = np.inf
    fails(scheme, tensors | {f"{MODULE}.{name}": bad},
          f"model.safetensors: tensor '{MODULE}.{name}' has a number that is not finite")
order = np.arange(64, dtype=np.int32) // 32
for group in (2, -1):
    order[5] = group
    fails(GPTQ, gptq | {f"{MODULE}.g_idx": order.copy()},
          f"model.safetensors: tensor '{MODULE}.g_idx' has other groups than 0 to 1, which "
          f"'{MODULE}.scales' has")
fails(AWQ | dict(group_size=128), awq, f"model.safetensors: tensor '{MODULE}.scales' has 2 scales "
      'for 64 columns, which is not as "group_size" of config.json says')
fails(GPTQ, gptq | {f"{MODULE}.bias": np.ones(64, np.float16)},
      f"has the tensor '{MODULE}.bias', which a model of the family llama")
shuffled, _ = formats.packed(np.random.default_rng(3), 61, 64, shuffled=True)
table = {name: value for name, value in PLAIN.items() if "embed_tokens" not in name}
fails(PACKED, table | {f"model.embed_tokens.{name}": value for name, value in shuffled.items()},
      "model.safetensors: tensor 'model.embed_tokens.weight_g_idx' has an order of columns, which is "
      "for products")


# Each tensor of each format: gone, of another type, of another shape.
def changes(value):
    yield None
    yield value.astype(np.int64)
    yield value.reshape(value.shape + (1, 1, 1))
    if value.shape[-1] > 1:  # a list of scales is as good as a column of them
        yield value.ravel() if value.ndim > 1 else value[:0]
    for axis in range(value.ndim):
        yield np.take(value, range(value.shape[axis] - 1), axis)
        yield np.take(value, [], axis)
        yield np.concatenate([value, value], axis)


zeros = tensors_of(quantized.CASES["packed-zeros"][1])
shuffled = tensors_of(quantized.CASES["packed-order"][1])
for scheme, tensors, optional in (
        (GPTQ, gptq, {"g_idx"}), (AWQ, awq, set()),
        (PACKED, zeros, {"weight_zero_point"}), (PACKED, shuffled, {"weight_g_idx"}),
        (BYTES, integers, set()), (FP8, floats, set()), (FLOATS, floats, set())):
    for name in tensors:
        part = name.removeprefix(MODULE + ".")
        if part == name or part in ("weight_shape", "input_scale", "bias"):
            continue
        for value in changes(tensors[name]):
            changed = {key: own for key, own in tensors.items() if key != name}
            if value is None:
                isCodes = part in ("qweight", "weight_packed", "weight")
                message = (f"folder: lacks the tensor '{MODULE}.weight', 64x64" if isCodes else
                           f"model.safetensors: lacks the tensor '{name.removesuffix('_inv')}', "
                           f"which the codes of '{MODULE}.")
            else:
                changed[name] = value
                # Codes of twice as many words may have twice the bits, and fewer groups fit the
                # scales; then another tensor is wrong.
                isOther = value.ndim == tensors[name].ndim and value.dtype == tensors[name].dtype
                message = f"model.safetensors: tensor '{MODULE + '.' if isOther else name}"
            done = run(scheme, changed)
            if value is None and part in optional:
                assert done.returncode == 0, done
                continue
            assert done.returncode == 1 and message in done.stderr, (
                name, value if value is None else (value.shape, value.dtype), message, done)
print("all good")
