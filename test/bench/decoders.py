"""Decoders of transformers, 8 layers of width 1024 unless a row says otherwise:
with computed masks that are causal, with sliding windows in some or all layers,
and with heads of 64 or 128.
"""
from networks import Decoder

COMMON = dict(vocab_size=32000, hidden_size=1024, num_hidden_layers=8,
              num_attention_heads=16, num_key_value_heads=8,
              intermediate_size=2816)


def decoder(name, config=None, **sizes):
    return lambda: Decoder(f"{name}ForCausalLM", config or f"{name}Config",
                           **COMMON | sizes)


# Name: builder, sequence length, size of the vocabulary.
DECODERS = {
    "hf-llama-370m": (decoder("Llama", num_hidden_layers=24), 2048, 32000),
    "hf-qwen3": (decoder("Qwen3", head_dim=128, num_attention_heads=8), 2048,
                 32000),
    "hf-gemma3": (decoder("Gemma3", "Gemma3TextConfig", head_dim=64,
                          sliding_window=512), 2048, 32000),
    "hf-mistral": (decoder("Mistral", sliding_window=1024), 2048, 32000),
    "hf-phi3": (decoder("Phi3", pad_token_id=0), 2048, 32000),
    "hf-olmo2": (decoder("Olmo2"), 2048, 32000),
    "hf-cohere": (decoder("Cohere"), 2048, 32000),
    "hf-gpt2": (lambda: Decoder("GPT2LMHeadModel", "GPT2Config",
                                resid_pdrop=0.0, embd_pdrop=0.0,
                                attn_pdrop=0.0), 1024, 50257),
}
