"""Folders of Hugging Face with random weights: one for each family and switch."""
import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

BASE = dict(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            rms_norm_eps=1e-5, hidden_act="silu", dtype="float32", bos_token_id=1, eos_token_id=2,
            pad_token_id=0)


def rope(**parameters):
    return dict(rope_parameters=dict(rope_theta=10000.0, rope_type="default") | parameters)


def folder(type, architecture, **switches):
    return BASE | rope() | dict(model_type=type, architectures=[architecture]) | switches


def llama(**switches):
    return folder("llama", "LlamaForCausalLM", **switches)


def gemma3(**switches):
    return folder("gemma3_text", "Gemma3ForCausalLM", head_dim=16, hidden_act=None,
                  hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=12,
                  num_hidden_layers=4, sliding_window=8, tie_word_embeddings=True, **switches)


def phi3_long(original):
    """Two lists of factors; the second is for contexts beyond `original`."""
    return folder("phi3", "Phi3ForCausalLM", sliding_window=None,
                  original_max_position_embeddings=original,
                  **rope(rope_type="longrope", partial_rotary_factor=0.75,
                         original_max_position_embeddings=original,
                         short_factor=[1.0, 1.1, 1.2], long_factor=[2.0, 2.3, 2.6]))


#: config.json of each folder, by its name. The older ones are as transformers 4 writes them.
CONFIGS = {
    "llama": llama(),
    "llama3": llama(tie_word_embeddings=True, head_dim=16, attention_bias=True, mlp_bias=True,
                    **rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                           high_freq_factor=4.0, original_max_position_embeddings=32)),
    "llama3-older": llama(rope_parameters=None, rope_theta=5000.0, dtype=None,
                          torch_dtype="float32",
                          rope_scaling=dict(type="llama3", factor=8.0, low_freq_factor=1.0,
                                            high_freq_factor=4.0,
                                            original_max_position_embeddings=32)),
    "linear": llama(**rope(rope_type="linear", factor=4.0), num_key_value_heads=1),
    "dynamic": llama(**rope(rope_type="dynamic", factor=4.0), hidden_act="gelu"),
    "yarn": llama(**rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=32),
                  hidden_act="relu"),
    "mistral": folder("mistral", "MistralForCausalLM", sliding_window=8),
    "qwen2": folder("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True, sliding_window=8,
                    use_sliding_window=False),
    "qwen2-windows": folder("qwen2", "Qwen2ForCausalLM", sliding_window=8,
                            use_sliding_window=True, max_window_layers=1,
                            layer_types=["full_attention", "sliding_attention"]),
    "qwen3": folder("qwen3", "Qwen3ForCausalLM", head_dim=16),
    "gemma": folder("gemma", "GemmaForCausalLM", head_dim=16, hidden_act="gelu_pytorch_tanh",
                    tie_word_embeddings=True),
    "gemma2": folder("gemma2", "Gemma2ForCausalLM", head_dim=16, hidden_act=None,
                     hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=12,
                     sliding_window=8, attn_logit_softcapping=5.0, final_logit_softcapping=3.0,
                     tie_word_embeddings=True),
    "gemma3": gemma3(layer_types=["sliding_attention"] * 2 + ["full_attention"] +
                     ["sliding_attention"],
                     rope_parameters=dict(
                         full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                         sliding_attention=dict(rope_type="default", rope_theta=1e4))),
    "gemma3-older": gemma3(rope_parameters=None, rope_theta=1e6, rope_local_base_freq=1e4,
                           sliding_window_pattern=3,
                           rope_scaling=dict(rope_type="linear", factor=8.0)),
    "phi3": folder("phi3", "Phi3ForCausalLM", sliding_window=20),
    "phi3-short": phi3_long(96),
    "phi3-long": phi3_long(8),
    "smollm3": folder("smollm3", "SmolLM3ForCausalLM", no_rope_layers=[1, 0],
                      tie_word_embeddings=True),
    "olmo2": folder("olmo2", "Olmo2ForCausalLM"),
    "granite": folder("granite", "GraniteForCausalLM", embedding_multiplier=3.0,
                      attention_multiplier=0.3, residual_multiplier=0.5, logits_scaling=4.0),
    "quick-gelu": llama(hidden_act="quick_gelu"),
    "squared": llama(hidden_act="relu2"),
    "tanh": llama(hidden_act="tanh"),
    "gpt2": dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=61, n_embd=32,
                 n_layer=2, n_head=4, n_positions=128, n_inner=None, layer_norm_epsilon=1e-5,
                 activation_function="gelu_new", scale_attn_by_inverse_layer_idx=True,
                 dtype="float32", bos_token_id=1, eos_token_id=2),
}


def shapes(config) -> dict[str, tuple]:
    """The tensors that a configuration takes."""
    if config["model_type"] == "gpt2":
        return gpt2_shapes(config)
    get = config.get
    family, width, inner = config["model_type"], config["hidden_size"], config["intermediate_size"]
    size = get("head_dim") or width // config["num_attention_heads"]
    q, k = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    result = {"model.embed_tokens.weight": (config["vocab_size"], width),
              "model.norm.weight": (width,)}
    if not get("tie_word_embeddings"):
        result["lm_head.weight"] = (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        own = {"self_attn.o_proj.weight": (width, q), "mlp.down_proj.weight": (width, inner),
               "post_attention_layernorm.weight": (width,)}
        if family == "phi3":
            own |= {"self_attn.qkv_proj.weight": (q + 2 * k, width),
                    "mlp.gate_up_proj.weight": (2 * inner, width)}
        else:
            own |= {"self_attn.q_proj.weight": (q, width), "self_attn.k_proj.weight": (k, width),
                    "self_attn.v_proj.weight": (k, width), "mlp.gate_proj.weight": (inner, width),
                    "mlp.up_proj.weight": (inner, width)}
        if family != "olmo2":
            own["input_layernorm.weight"] = (width,)
        if family in ("gemma2", "gemma3_text"):
            own["pre_feedforward_layernorm.weight"] = (width,)
        if family in ("gemma2", "gemma3_text", "olmo2"):
            own["post_feedforward_layernorm.weight"] = (width,)
        if family in ("qwen3", "gemma3_text"):
            own |= {"self_attn.q_norm.weight": (size,), "self_attn.k_norm.weight": (size,)}
        if family == "olmo2":
            own |= {"self_attn.q_norm.weight": (q,), "self_attn.k_norm.weight": (k,)}
        biased = [n for n in own if n.startswith("self_attn.") and "_proj" in n
                  and (get("attention_bias") or family == "qwen2" and "o_proj" not in n)]
        biased += [n for n in own if n.startswith("mlp.") and get("mlp_bias")]
        own |= {n.replace("weight", "bias"): own[n][:1] for n in biased}
        result |= {f"model.layers.{layer}.{n}": shape for n, shape in own.items()}
    return result


def gpt2_shapes(config):
    width = config["n_embd"]
    result = {"transformer.wte.weight": (config["vocab_size"], width),
              "transformer.wpe.weight": (config["n_positions"], width),
              "transformer.ln_f.weight": (width,), "transformer.ln_f.bias": (width,)}
    for layer in range(config["n_layer"]):
        for name, shape in {"ln_1": (width,), "ln_2": (width,), "attn.c_attn": (width, 3 * width),
                            "attn.c_proj": (width, width), "mlp.c_fc": (width, 4 * width),
                            "mlp.c_proj": (4 * width, width)}.items():
            result[f"transformer.h.{layer}.{name}.weight"] = shape
            result[f"transformer.h.{layer}.{name}.bias"] = shape[-1:]
    return result


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """uint16 arrays are bits of bf16, those of uint8 of e4m3."""
    types = {"uint16": ml_dtypes.bfloat16, "uint8": ml_dtypes.float8_e4m3fn}
    save_file({name: np.array(value, order="C").view(types.get(value.dtype.name, value.dtype))
               for name, value in tensors.items()}, path, {"format": "pt"})


def write_bf16(path: Path, shapes: dict[str, tuple], make) -> None:
    """Writes a file of bf16, a tensor at a time: `make(shape)` gives its bits, uint16 or int16."""
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = dict(dtype="BF16", shape=list(shape), data_offsets=[at, at + size])
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes.values():
            file.write(make(shape).tobytes())


def random_tensors(config, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    gemma = config["model_type"].startswith("gemma")
    tensors = {}
    for name, shape in shapes(config).items():
        value = rng.normal(size=shape)
        if len(shape) == 1:
            isNorm = "norm" in name or ".ln_" in name
            value = 0.2 * value + (isNorm and name.endswith("weight") and not gemma)
            if gemma and "layernorm" in name:
                value += 1.0
        elif "embed_tokens" in name or "wte" in name:
            # A tied head would otherwise choose the last token again.
            value *= 1.0 if "lm_head.weight" in shapes(config) else 0.07 if gemma else 0.12
        elif "lm_head" not in name:
            value *= 0.35
        tensors[name] = value.astype(np.float32)
    return tensors


def narrow(value: np.ndarray) -> np.ndarray:
    """Rounds to bf16, as uint16."""
    bits = value.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def write_folder(path: Path, config: dict, tensors: dict[str, np.ndarray], files: int = 1) -> None:
    """Writes a folder, with an index if there are several files of weights."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config, indent=1))
    if files == 1:
        return write_safetensors(path / "model.safetensors", tensors)
    names = sorted(tensors)
    where = {name: f"model-{i % files + 1:05}-of-{files:05}.safetensors"
             for i, name in enumerate(names)}
    for file in set(where.values()):
        write_safetensors(path / file, {n: tensors[n] for n in names if where[n] == file})
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))


def make(path: Path, name: str, files: int = 1) -> Path:
    """Writes the folder `name` with weights of its own."""
    config = CONFIGS[name]
    write_folder(path / name, config, random_tensors(config, sum(map(ord, name))), files)
    return path / name
