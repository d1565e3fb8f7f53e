"""Decoder language models in NumPy, from a folder of Hugging Face.

The model is computed anew for every token, over the whole sequence, in f32 and
as the papers write it. No caches, chunks or tables: nothing here is shared with
the compiler. `test/language/transformers.py` holds this file to transformers.
"""
import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def read_folder(folder: Path):
    """The configuration and all tensors."""
    config = json.loads((folder / "config.json").read_text())
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= {name: value.astype(np.float32) for name, value in load_file(file).items()}
    return config, tensors


# ===----------------------------------------------------------------------=== #
# Rotary positions
# ===----------------------------------------------------------------------=== #


def frequencies(rope: dict, size: int, config: dict, capacity: int):
    """Radians per position of each pair, and the factor of cosines and sines."""
    kind = rope.get("rope_type", rope.get("type", "default"))
    plain = rope["rope_theta"] ** -(np.arange(0, size, 2) / size)
    original = (rope.get("original_max_position_embeddings")
                or config.get("original_max_position_embeddings")
                or config["max_position_embeddings"])
    if kind in ("default", "dynamic"):
        return plain, 1.0
    if kind == "linear":
        return plain / rope["factor"], 1.0
    if kind == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        turns = original * plain / (2 * np.pi)
        share = np.clip((turns - low) / (high - low), 0, 1)
        return plain * (share + (1 - share) / rope["factor"]), 1.0
    factor = rope.get("factor") or config["max_position_embeddings"] / original
    if kind == "yarn":
        def pair(turns):
            return (size * math.log(original / (turns * 2 * math.pi))
                    / (2 * math.log(rope["rope_theta"])))
        low = max(math.floor(pair(rope.get("beta_fast", 32))), 0)
        high = min(math.ceil(pair(rope.get("beta_slow", 1))), size - 1)
        share = np.clip((np.arange(size // 2) - low) / (high - low or 1e-3), 0, 1)
        return (plain * (1 - share + share / factor),
                rope.get("attention_factor", 0.1 * math.log(factor) + 1))
    assert kind == "longrope", kind
    if "original_max_position_embeddings" in config:
        factor = config["max_position_embeddings"] / original
    stretch = rope["long_factor" if capacity > original else "short_factor"]
    return plain / np.array(stretch), math.sqrt(1 + math.log(factor) / math.log(original))


def rotate(x, rope, config, capacity):
    """x is positions × heads × size."""
    size = int(x.shape[2] * rope.get("partial_rotary_factor", 1.0)) // 2 * 2
    speed, factor = frequencies(rope, size, config, capacity)
    angle = np.arange(len(x))[:, None, None] * speed.astype(np.float32)
    cos, sin = np.cos(angle) * factor, np.sin(angle) * factor
    a, b, rest = x[..., :size // 2], x[..., size // 2:size], x[..., size:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1).astype(np.float32)


# ===----------------------------------------------------------------------=== #
# The model
# ===----------------------------------------------------------------------=== #


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))).astype(np.float32)


def silu(x):
    return x / (1 + np.exp(-x))


ACTIVATIONS = {"silu": silu, "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh,
               "relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0) ** 2,
               "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)), "tanh": np.tanh}


class Decoder:
    """The model of a folder, with caches of `capacity` tokens."""

    def __init__(self, folder, capacity: int):
        self.config, self.tensors = read_folder(Path(folder))
        self.config |= self.config.get("text_config", {})
        self.capacity = capacity
        get = self.config.get
        self.family = get("model_type")
        self.gpt2 = self.family == "gpt2"
        self.layers = get("n_layer") if self.gpt2 else get("num_hidden_layers")
        self.heads = get("n_head") if self.gpt2 else get("num_attention_heads")
        self.groups = self.heads if self.gpt2 else get("num_key_value_heads", self.heads)
        width = get("n_embd") if self.gpt2 else get("hidden_size")
        self.width, self.size = width, get("head_dim") or width // self.heads
        self.epsilon = get("layer_norm_epsilon") if self.gpt2 else get("rms_norm_eps")
        self.gemma = self.family.startswith("gemma")
        self.scale = 1 / math.sqrt(get("query_pre_attn_scalar") or self.size)
        if self.family == "granite":
            self.scale = get("attention_multiplier")
        self.act = ACTIVATIONS[get("hidden_activation") or get("hidden_act")
                               or get("activation_function")]

    def tensor(self, name):
        for prefix in ("model.", "transformer.", "language_model.model.", ""):
            if prefix + name in self.tensors:
                return self.tensors[prefix + name]
        return None

    def product(self, x, name):
        w, bias = self.tensor(name + ".weight"), self.tensor(name + ".bias")
        y = x @ (w if self.gpt2 else w.T)
        return y if bias is None else y + bias

    def norm(self, x, name):
        w = self.tensor(name + ".weight")
        if self.gpt2:
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * w + self.tensor(
                name + ".bias")
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.epsilon))
        return y * (1 + w if self.gemma else w)

    def window(self, layer):
        """Keys that a query of the layer sees; None for all."""
        get = self.config.get
        types = get("layer_types")
        if types:
            slides = types[layer] == "sliding_attention"
        else:
            slides = {"mistral": True, "phi3": True, "gemma2": layer % 2 == 0,
                      "gemma3_text": (layer + 1) % (get("sliding_window_pattern") or 6) != 0,
                      }.get(self.family, False)
        return get("sliding_window") if slides else None

    def rope(self, layer):
        """The rotary positions of a layer; None for none."""
        get = self.config.get
        if self.gpt2 or self.family == "smollm3" and not get("no_rope_layers")[layer]:
            return None
        rope = get("rope_parameters")
        if not rope:  # transformers 4
            local = self.family == "gemma3_text" and self.window(layer)
            theta = get("rope_local_base_freq") if local else get("rope_theta", 10000.0)
            rope = {**({} if local else get("rope_scaling") or {}), "rope_theta": theta,
                    "partial_rotary_factor": get("partial_rotary_factor", 1.0)}
        if "full_attention" in rope:
            rope = rope["sliding_attention" if self.window(layer) else "full_attention"]
        return rope

    def attention(self, x, layer, prefix):
        count, size = len(x), self.size
        if self.gpt2:
            q, k, v = np.split(self.product(x, prefix + "attn.c_attn"), 3, -1)
        elif self.family == "phi3":
            q, k, v = np.split(self.product(x, prefix + "self_attn.qkv_proj"),
                               [self.heads * size, (self.heads + self.groups) * size], -1)
        else:
            q, k, v = (self.product(x, f"{prefix}self_attn.{p}_proj") for p in "qkv")
        if self.family == "olmo2":
            q = self.norm(q, prefix + "self_attn.q_norm")
            k = self.norm(k, prefix + "self_attn.k_norm")
        q, k, v = (t.reshape(count, -1, size) for t in (q, k, v))
        if self.family in ("qwen3", "gemma3_text", "gemma3"):
            q = self.norm(q, prefix + "self_attn.q_norm")
            k = self.norm(k, prefix + "self_attn.k_norm")
        rope = self.rope(layer)
        if rope:
            q, k = (rotate(t, rope, self.config, self.capacity) for t in (q, k))
        k, v = (np.repeat(t, self.heads // self.groups, 1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * np.float32(self.scale)
        if self.config.get("scale_attn_by_inverse_layer_idx"):
            scores /= layer + 1
        cap = self.config.get("attn_logit_softcapping")
        if cap:
            scores = cap * np.tanh(scores / cap)
        query, key = np.arange(count)[:, None], np.arange(count)[None]
        seen = key <= query
        if self.window(layer):
            seen &= key > query - self.window(layer)
        scores = np.where(seen, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        y = np.einsum("hqk,khd->qhd", weights, v).reshape(count, -1)
        return self.product(y, prefix + ("attn.c_proj" if self.gpt2 else "self_attn.o_proj"))

    def feed_forward(self, x, prefix):
        if self.gpt2:
            return self.product(self.act(self.product(x, prefix + "mlp.c_fc")),
                                prefix + "mlp.c_proj")
        if self.family == "phi3":
            gate, up = np.split(self.product(x, prefix + "mlp.gate_up_proj"), 2, -1)
        else:
            gate = self.product(x, prefix + "mlp.gate_proj")
            up = self.product(x, prefix + "mlp.up_proj")
        return self.product(self.act(gate) * up, prefix + "mlp.down_proj")

    def logits(self, tokens) -> np.ndarray:
        """The logits after the last of `tokens`."""
        get = self.config.get
        embedding = self.tensor("wte.weight" if self.gpt2 else "embed_tokens.weight")
        x = embedding[tokens]
        if self.gpt2:
            x = x + self.tensor("wpe.weight")[:len(tokens)]
        if self.gemma:
            x = x * np.float32(math.sqrt(self.width))
        x = x * np.float32(get("embedding_multiplier", 1))
        after = self.family in ("gemma2", "gemma3", "gemma3_text", "olmo2")
        before = self.family != "olmo2"
        for layer in range(self.layers):
            prefix = f"h.{layer}." if self.gpt2 else f"layers.{layer}."
            first, second = (("ln_1", "ln_2") if self.gpt2 else
                             ("input_layernorm", "pre_feedforward_layernorm" if after else
                              "post_attention_layernorm"))
            y = self.attention(self.norm(x, prefix + first) if before else x, layer, prefix)
            if after:
                y = self.norm(y, prefix + "post_attention_layernorm")
            x = x + y * np.float32(get("residual_multiplier", 1))
            y = self.feed_forward(self.norm(x, prefix + second) if before else x, prefix)
            if after:
                y = self.norm(y, prefix + "post_feedforward_layernorm")
            x = x + y * np.float32(get("residual_multiplier", 1))
        x = self.norm(x[-1], "ln_f" if self.gpt2 else "norm")
        head = self.tensors.get("lm_head.weight")
        logits = x @ (embedding if head is None else head).T / np.float32(
            get("logits_scaling", 1))
        cap = get("final_logit_softcapping")
        return cap * np.tanh(logits / cap) if cap else logits

    def generate(self, prompt, count: int) -> list[int]:
        """The tokens that follow `prompt`, each the likeliest."""
        tokens = list(prompt)
        for _ in range(count):
            tokens.append(int(self.logits(tokens).argmax()))
        return tokens[len(prompt):]
