"""Models that read a source, in NumPy: T5 and Whisper, from folders of Hugging Face.

As reference.py: no caches, the whole sequence anew for every token, in f32.
`transformers_encoders.py` holds this file to transformers.
"""
import math
from pathlib import Path

import numpy as np

from folders import write_folder
from reference import gelu, gelu_tanh, read_folder

T5 = dict(model_type="t5", architectures=["T5ForConditionalGeneration"], vocab_size=61, d_model=32,
          d_kv=12, d_ff=48, num_layers=2, num_decoder_layers=3, num_heads=4,
          relative_attention_num_buckets=8, relative_attention_max_distance=20,
          layer_norm_epsilon=1e-6, feed_forward_proj="relu", tie_word_embeddings=True,
          n_positions=64, dtype="float32", decoder_start_token_id=0, pad_token_id=0,
          eos_token_id=1, is_encoder_decoder=True)

#: config.json of each folder, by its name.
CONFIGS = {
    "t5": T5,
    "t5-gated": T5 | dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False,
                          num_decoder_layers=2),
    "whisper": dict(model_type="whisper", architectures=["WhisperForConditionalGeneration"],
                    vocab_size=61, d_model=32, encoder_layers=2, encoder_attention_heads=2,
                    encoder_ffn_dim=48, decoder_layers=3, decoder_attention_heads=4,
                    decoder_ffn_dim=56, num_mel_bins=10, max_source_positions=24,
                    max_target_positions=64, activation_function="gelu", scale_embedding=False,
                    dtype="float32", decoder_start_token_id=1, pad_token_id=0, bos_token_id=1,
                    eos_token_id=2, begin_suppress_tokens=None, suppress_tokens=None,
                    is_encoder_decoder=True),
}


def t5_shapes(c):
    width, inner, heads = c["d_model"], c["d_ff"], c["num_heads"]
    rows = heads * c["d_kv"]
    result = {"shared.weight": (c["vocab_size"], width)}
    if not c["tie_word_embeddings"]:
        result["lm_head.weight"] = (c["vocab_size"], width)
    forward = ["wi"] if c["feed_forward_proj"] == "relu" else ["wi_0", "wi_1"]
    for side, layers in (("encoder", c["num_layers"]), ("decoder", c["num_decoder_layers"])):
        parts = ["SelfAttention", "EncDecAttention"][:1 + (side == "decoder")]
        for i in range(layers):
            for j, part in enumerate(parts):
                prefix = f"{side}.block.{i}.layer.{j}."
                for name in "qkv":
                    result[f"{prefix}{part}.{name}.weight"] = (rows, width)
                result[f"{prefix}{part}.o.weight"] = (width, rows)
                result[prefix + "layer_norm.weight"] = (width,)
            prefix = f"{side}.block.{i}.layer.{len(parts)}."
            for name in forward:
                result[f"{prefix}DenseReluDense.{name}.weight"] = (inner, width)
            result[prefix + "DenseReluDense.wo.weight"] = (width, inner)
            result[prefix + "layer_norm.weight"] = (width,)
        result[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = (
            c["relative_attention_num_buckets"], heads)
        result[f"{side}.final_layer_norm.weight"] = (width,)
    return result


def whisper_shapes(c):
    width = c["d_model"]
    result = {"model.encoder.conv1.weight": (width, c["num_mel_bins"], 3),
              "model.encoder.conv2.weight": (width, width, 3),
              "model.encoder.conv1.bias": (width,), "model.encoder.conv2.bias": (width,),
              "model.encoder.embed_positions.weight": (c["max_source_positions"], width),
              "model.decoder.embed_tokens.weight": (c["vocab_size"], width),
              "model.decoder.embed_positions.weight": (c["max_target_positions"], width)}

    def linear(name, outputs, inputs, bias=True):
        result[name + ".weight"] = (outputs, inputs)
        if bias:
            result[name + ".bias"] = (outputs,)

    def norm(name):
        result[name + ".weight"] = result[name + ".bias"] = (width,)

    for side in ("encoder", "decoder"):
        for i in range(c[side + "_layers"]):
            prefix = f"model.{side}.layers.{i}."
            for part in ["self_attn", "encoder_attn"][:1 + (side == "decoder")]:
                for name in "qkv":
                    linear(f"{prefix}{part}.{name}_proj", width, width, name != "k")
                linear(f"{prefix}{part}.out_proj", width, width)
                norm(f"{prefix}{part}_layer_norm")
            linear(prefix + "fc1", c[side + "_ffn_dim"], width)
            linear(prefix + "fc2", width, c[side + "_ffn_dim"])
            norm(prefix + "final_layer_norm")
        norm(f"model.{side}.layer_norm")
    return result


def make(path: Path, name: str, **changed) -> Path:
    """Writes the folder `name` with random weights."""
    config = CONFIGS[name] | changed
    rng = np.random.default_rng(sum(map(ord, name)))
    shapes = (whisper_shapes if config["model_type"] == "whisper" else t5_shapes)(config)
    tensors = {}
    for key, shape in shapes.items():
        value = rng.normal(size=shape)
        if "norm" in key:
            value = 0.2 * value + key.endswith("weight")
        elif key == "shared.weight" or "embed_" in key:
            # A tied head would otherwise choose the last token again.
            value *= 1.0 if "lm_head.weight" in shapes else 0.3 if "model." in key else 0.03
        elif not key.startswith("lm_head") and "relative" not in key:
            value *= 0.3
        tensors[key] = value.astype(np.float32)
    write_folder(path / name, config, tensors)
    return path / name


def attend(q, k, v, scale, bias=None, causal=False):
    """Attention of rows × heads × size."""
    scores = np.einsum("qhd,khd->hqk", q, k) * np.float32(scale)
    if bias is not None:
        scores = scores + bias
    if causal:
        later = np.arange(len(k))[None] > np.arange(len(q))[:, None]
        scores = np.where(later, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, v).reshape(len(q), -1)


class Model:
    """The model of a folder."""

    def __init__(self, folder):
        self.config, self.tensors = read_folder(Path(folder))

    def tensor(self, name):
        return self.tensors.get(name)

    def product(self, x, name):
        y, bias = x @ self.tensors[name + ".weight"].T, self.tensor(name + ".bias")
        return y if bias is None else y + bias

    def generate(self, source, prompt, count):
        """The tokens that follow `prompt`, each the likeliest."""
        encoded, tokens = self.encode(source), list(prompt)
        for _ in range(count):
            tokens.append(int(self.logits(encoded, tokens).argmax()))
        return tokens[len(prompt):]


class T5Model(Model):
    def norm(self, x, name):
        eps = np.float32(self.config["layer_norm_epsilon"])
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * self.tensors[name + ".weight"]

    def bucket(self, distance, both):
        """The row of the table for key - query."""
        buckets, most = (self.config["relative_attention_num_buckets"],
                         self.config["relative_attention_max_distance"])
        first = 0
        if both:
            buckets //= 2
            first = buckets if distance > 0 else 0
            distance = abs(distance)
        else:
            distance = max(-distance, 0)
        exact = buckets // 2
        if distance < exact:
            return first + distance
        share = np.float32(math.log(np.float32(distance / exact))) / np.float32(
            math.log(most / exact))
        return first + min(exact + int(share * (buckets - exact)), buckets - 1)

    def bias(self, side, count):
        table = self.tensors[
            f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        rows = [[self.bucket(k - q, side == "encoder") for k in range(count)]
                for q in range(count)]
        return table[np.array(rows)].transpose(2, 0, 1)

    def attention(self, x, seen, name, bias=None, causal=False):
        heads = self.config["num_heads"]
        q, k, v = (self.product(t, f"{name}.{p}").reshape(len(t), heads, -1)
                   for t, p in ((x, "q"), (seen, "k"), (seen, "v")))
        return self.product(attend(q, k, v, 1, bias, causal), name + ".o")

    def stack(self, x, side, encoded=None):
        bias = self.bias(side, len(x))
        layers = self.config["num_layers" if side == "encoder" else "num_decoder_layers"]
        for i in range(layers):
            prefix = f"{side}.block.{i}.layer."
            y = self.norm(x, prefix + "0.layer_norm")
            x = x + self.attention(y, y, prefix + "0.SelfAttention", bias, side == "decoder")
            if encoded is not None:
                y = self.norm(x, prefix + "1.layer_norm")
                x = x + self.attention(y, encoded, prefix + "1.EncDecAttention")
            prefix += "1." if encoded is None else "2."
            y, dense = self.norm(x, prefix + "layer_norm"), prefix + "DenseReluDense."
            if self.config["feed_forward_proj"] == "relu":
                y = np.maximum(self.product(y, dense + "wi"), 0)
            else:
                y = gelu_tanh(self.product(y, dense + "wi_0")) * self.product(y, dense + "wi_1")
            x = x + self.product(y, dense + "wo")
        return self.norm(x, side + ".final_layer_norm")

    def encode(self, source):
        return self.stack(self.tensors["shared.weight"][source], "encoder")

    def logits(self, encoded, tokens):
        x = self.stack(self.tensors["shared.weight"][tokens], "decoder", encoded)[-1]
        # transformers 5 says that all heads are tied.
        if self.config.get("scale_decoder_outputs", self.config["tie_word_embeddings"]):
            x = x * np.float32(self.config["d_model"] ** -0.5)
        head = self.tensor("lm_head.weight")
        return x @ (self.tensors["shared.weight"] if head is None else head).T


class WhisperModel(Model):
    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5))
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attention(self, x, seen, name, heads, causal=False):
        q, k, v = (self.product(t, f"{name}.{p}_proj").reshape(len(t), heads, -1)
                   for t, p in ((x, "q"), (seen, "k"), (seen, "v")))
        return self.product(attend(q, k, v, q.shape[2] ** -0.5, None, causal), name + ".out_proj")

    def stack(self, x, side, encoded=None):
        heads = self.config[side + "_attention_heads"]
        for i in range(self.config[side + "_layers"]):
            prefix = f"model.{side}.layers.{i}."
            y = self.norm(x, prefix + "self_attn_layer_norm")
            x = x + self.attention(y, y, prefix + "self_attn", heads, side == "decoder")
            if encoded is not None:
                y = self.norm(x, prefix + "encoder_attn_layer_norm")
                x = x + self.attention(y, encoded, prefix + "encoder_attn", heads)
            y = gelu(self.product(self.norm(x, prefix + "final_layer_norm"), prefix + "fc1"))
            x = x + self.product(y, prefix + "fc2")
        return self.norm(x, f"model.{side}.layer_norm")

    def encode(self, features):
        """`features` are bins × frames."""
        x = features
        for name, stride in (("conv1", 1), ("conv2", 2)):
            filters = self.tensors[f"model.encoder.{name}.weight"]
            padded = np.pad(x, ((0, 0), (1, 1)))
            frames = [np.einsum("oik,ik->o", filters, padded[:, at:at + 3])
                      for at in range(0, x.shape[1], stride)]
            x = gelu(np.stack(frames, 1)
                     + self.tensors[f"model.encoder.{name}.bias"][:, None]).astype(np.float32)
        return self.stack(x.T + self.tensors["model.encoder.embed_positions.weight"], "encoder")

    def logits(self, encoded, tokens):
        embedding = self.tensors["model.decoder.embed_tokens.weight"]
        x = embedding[tokens] + self.tensors["model.decoder.embed_positions.weight"][:len(tokens)]
        return self.stack(x, "decoder", encoded)[-1] @ embedding.T


def load(folder):
    model = Model(folder)
    return (WhisperModel if model.config["model_type"] == "whisper" else T5Model)(folder)
