"""Writes the folder of a language model as GGUF, as llama.cpp's converter does
(convert_hf_to_gguf.py): names, keys, order of rows, norms plus 1."""
import json
from pathlib import Path

import numpy as np

import gguf_file

ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
                 "gemma": "gemma", "gemma2": "gemma2", "gemma3_text": "gemma3",
                 "phi3": "phi3", "olmo2": "olmo2", "gpt2": "gpt2", "granite": "granite",
                 "smollm3": "smollm3"}
#: Architectures whose halves of heads become pairs.
PAIRED = ("llama", "granite", "smollm3")
NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
         "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
         "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
         "pre_feedforward_layernorm": "ffn_norm",
         "post_feedforward_layernorm": "post_ffw_norm"}


def name_of(name: str, architecture: str) -> str:
    name = name.removeprefix("model.").removeprefix("transformer.")
    stem, kind = name.rsplit(".", 1)
    if stem in NAMES:
        return f"{NAMES[stem]}.{kind}"
    _, layer, part = stem.split(".", 2)
    if part == "post_attention_layernorm":
        after = architecture in ("gemma2", "gemma3", "olmo2")
        return f"blk.{layer}.{'post_attention_norm' if after else 'ffn_norm'}.{kind}"
    return f"blk.{layer}.{LAYER[part]}.{kind}"


def pair_rows(value, heads: int):
    """Halves of heads become pairs of neighbours."""
    rows = value.reshape(heads, 2, value.shape[0] // heads // 2, *value.shape[1:])
    return rows.swapaxes(1, 2).reshape(value.shape)


def keys(config: dict, architecture: str, size: int) -> dict:
    get = config.get
    rope = get("rope_parameters") or {}
    rope = rope.get("full_attention", rope)
    result = {
        "context_length": get("max_position_embeddings") or get("n_positions"),
        "embedding_length": get("hidden_size") or get("n_embd"),
        "block_count": get("num_hidden_layers") or get("n_layer"),
        "feed_forward_length": get("intermediate_size") or 4 * (get("n_embd") or 0),
        "attention.head_count": get("num_attention_heads") or get("n_head"),
        "attention.head_count_kv": get("num_key_value_heads") or get("n_head")}
    if architecture == "gpt2":
        return result | {"attention.layer_norm_epsilon": get("layer_norm_epsilon")}
    result |= {"attention.layer_norm_rms_epsilon": get("rms_norm_eps"),
               "rope.freq_base": rope.get("rope_theta", 10000.0),
               "rope.dimension_count": int(size * rope.get("partial_rotary_factor", 1.0)) // 2 * 2,
               "attention.key_length": size, "attention.value_length": size}
    if get("sliding_window") and architecture in ("gemma2", "gemma3", "phi3"):
        result["attention.sliding_window"] = get("sliding_window")
    if architecture == "gemma2":
        result |= {"attn_logit_softcapping": get("attn_logit_softcapping"),
                   "final_logit_softcapping": get("final_logit_softcapping")}
    if architecture == "granite":
        result |= {"attention.scale": get("attention_multiplier"),
                   "embedding_scale": get("embedding_multiplier"),
                   "residual_scale": get("residual_multiplier"),
                   "logit_scale": get("logits_scaling")}
    if rope.get("rope_type") in ("linear", "yarn"):
        result |= {"rope.scaling.type": rope["rope_type"],
                   "rope.scaling.factor": rope["factor"]}
    if "original_max_position_embeddings" in rope and rope["rope_type"] != "llama3":
        result["rope.scaling.original_context_length"] = rope[
            "original_max_position_embeddings"]
    return result


def factors(config: dict, size: int) -> dict:
    """Tensors of rotary positions."""
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type") == "longrope":
        return {"rope_factors_long.weight": np.array(rope["long_factor"], np.float32),
                "rope_factors_short.weight": np.array(rope["short_factor"], np.float32)}
    if rope.get("rope_type") != "llama3":
        return {}
    speed = rope["rope_theta"] ** -(np.arange(0, size, 2) / size)
    turns = rope["original_max_position_embeddings"] * speed / (2 * np.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    share = np.clip((turns - low) / (high - low), 0, 1)
    return {"rope_freqs.weight": (1 / (share + (1 - share) / rope["factor"]))
            .astype(np.float32)}


def convert(config: dict, tensors: dict[str, np.ndarray], changes: dict | None = None,
            raw: dict | None = None, values: dict | None = None, files: int = 1):
    """Returns the file's bytes, or a list of those of several files. `raw` has numbers of types and bytes of some tensors, by their names in the
    folder, whose rows are in the folder's order. `changes` are keys; None takes one
    away."""
    raw = raw or {}
    architecture = ARCHITECTURES[config["model_type"]]
    width = config.get("hidden_size") or config["n_embd"]
    heads = config.get("num_attention_heads") or config["n_head"]
    size = config.get("head_dim") or width // heads
    pairs = {"attn_q": heads, "attn_k": config.get("num_key_value_heads", heads)}
    result = {}
    for name, value in (tensors | factors(config, size)).items():
        new = name if name.startswith("rope_") else name_of(name, architecture)
        kind, data = raw.get(name, (0, None))
        if data is not None:  # rows of blocks
            value = np.frombuffer(data, np.uint8).reshape(value.shape[0], -1)
            dims = (tensors[name].shape[1], value.shape[0])
        if architecture == "gpt2" and ".c_" in name and value.ndim == 2:
            value = value.T
        if architecture.startswith("gemma") and "norm" in name:
            value = value + np.float32(1)
        part = new.split(".")[2] if new.startswith("blk.") else ""
        if architecture in PAIRED and part in pairs:
            value = pair_rows(value, pairs[part])
        if data is None:
            dims = value.shape[::-1]
        result[new] = (kind, dims, np.ascontiguousarray(value).tobytes())
    all_keys = {"general.architecture": architecture} | {
        f"{architecture}.{key}": value
        for key, value in keys(config, architecture, size).items()}
    all_keys |= (values or {}) | (changes or {})
    all_keys = {key: value for key, value in all_keys.items() if value is not None}
    return gguf_file.make(all_keys, result) if files == 1 else gguf_file.split(
        all_keys, result, files)
