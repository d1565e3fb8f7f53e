"""Seeds of the target `folder`: small folders of every family and kind of weights as one file."""
import pathlib
import struct
import sys
import tempfile

import numpy as np

SMALL = dict(vocab_size=5, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
             num_attention_heads=2, num_key_value_heads=1, head_dim=4)
SMALL_TEXT = dict(vocab_size=5, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_decoder_layers=1,
                  num_heads=2)
SMALL_SOUND = dict(vocab_size=5, d_model=8, encoder_layers=1, decoder_layers=1,
                   encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=8,
                   decoder_ffn_dim=8, num_mel_bins=4, max_source_positions=4,
                   max_target_positions=8)


def pack(folder: pathlib.Path) -> bytes:
    """Two sizes, config.json, an index of one file if there is one, weights."""
    index = folder / "model.safetensors.index.json"
    text = b""
    if index.exists():
        text = index.read_bytes().replace(b"model-00001-of-00001", b"part")
    weights = next(folder.glob("*.safetensors")).read_bytes()
    config = (folder / "config.json").read_bytes()
    return struct.pack("<II", len(config), len(text)) + config + text + weights


def quantized(formats):
    """What config.json says and what makes a module's tensors, by name."""
    def compressed(format, **weights):
        return dict(quant_method="compressed-tensors", format=format, ignore=["lm_head"],
                    config_groups=dict(group_0=dict(targets=["Linear"], weights=dict(
                        dict(num_bits=4, type="int") | weights))))
    gptq = dict(quant_method="gptq", bits=4, group_size=32, checkpoint_format="gptq")
    floats = lambda **options: lambda *shape: formats.floats(*shape, scale="weight_scale", **options)
    return {
        "gptq": (gptq, formats.gptq),
        "gptq-8": (gptq | dict(bits=8, group_size=-1), lambda *s: formats.gptq(*s, 8, -1)),
        "gptq-order": (gptq | dict(desc_act=True), lambda *s: formats.gptq(*s, shuffled=True)),
        "awq": (dict(quant_method="awq", bits=4, group_size=32, version="gemm",
                     zero_point=True), formats.awq),
        "packed": (compressed("pack-quantized", group_size=32), formats.packed),
        "packed-zeros": (compressed("pack-quantized", group_size=32),
                         lambda *s: formats.packed(*s, zeros="packed")),
        "bytes": (compressed("int-quantized", num_bits=8), formats.integers),
        "rows": (compressed("float-quantized", num_bits=8, type="float"), floats(by="rows")),
        "fp8": (dict(quant_method="fp8", weight_block_size=[128, 128],
                     activation_scheme="dynamic"), formats.floats),
        "fbgemm": (dict(quant_method="fbgemm_fp8"), floats(by="list")),
        "modelopt": (dict(quant_method="modelopt", quant_algo="FP8"), floats(by="scalar")),
    }


def code(folders, config, make):
    """Tensors of a model whose products are codes."""
    rng, stored = np.random.default_rng(1), {}
    for key, value in folders.random_tensors(config, 1).items():
        module = key.removesuffix(".weight")
        if not module.endswith("_proj"):
            stored[key] = value
            continue
        made, _ = make(rng, *value.shape)
        stored |= {f"{module}.{part}": tensor for part, tensor in made.items()}
    return stored


def make(root: pathlib.Path):
    """Pairs of a name and bytes."""
    sys.path.insert(0, str(root / "test/language"))
    import encoders
    import folders
    import quantized_formats
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name, config in folders.CONFIGS.items():
            config = config | (dict(n_embd=8, n_layer=1, n_head=2, n_positions=4, vocab_size=5)
                               if name == "gpt2" else SMALL)
            if "layer_types" in config:
                config["layer_types"] = config["layer_types"][-1:]
            if "no_rope_layers" in config:
                config["no_rope_layers"] = [1]
            tensors = folders.random_tensors(config, 1)
            folders.write_folder(work / name, config, tensors)
            yield name, pack(work / name)
        config = folders.llama(**SMALL)
        folders.write_folder(work / "index", config, folders.random_tensors(config, 1))
        one = work / "index/model.safetensors"
        one.rename(one.with_name("model-00001-of-00001.safetensors"))
        names = folders.random_tensors(config, 1)
        (work / "index/model.safetensors.index.json").write_text(
            '{"weight_map": {%s}}' % ", ".join(f'"{n}": "part.safetensors"' for n in names))
        yield "index", pack(work / "index")
        for name in encoders.CONFIGS:
            encoders.make(work, name, **SMALL_SOUND if name == "whisper" else SMALL_TEXT)
            yield name, pack(work / name)
        large = SMALL | dict(hidden_size=32, intermediate_size=32, head_dim=16)
        for name, (scheme, codes) in quantized(quantized_formats).items():
            config = folders.llama(**large, quantization_config=scheme)
            folders.write_folder(work / name, config, code(folders, config, codes))
            yield f"quantized-{name}", pack(work / name)


def words():
    """Words that a mutation may insert."""
    for word in ("model_type", "architectures", "layer_types", "sliding_attention",
                 "full_attention", "sliding_window", "rope_parameters", "rope_scaling",
                 "rope_type", "longrope", "yarn", "factor", "partial_rotary_factor",
                 "tie_word_embeddings", "head_dim", "no_rope_layers", "text_config",
                 "quantization_config", "quant_method", "group_size", "bits", "desc_act",
                 "weight_map", "dtype", "shape", "data_offsets", "F32", "BF16", "I32", "F8_E4M3"):
        yield f'"{word}"'.encode()
    for family in ("llama", "gemma2", "gemma3_text", "phi3", "smollm3", "gpt2", "t5", "whisper"):
        yield f'"{family}"'.encode()
