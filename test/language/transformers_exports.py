"""Compares tokens of PyTorch's exports with transformers': transformers_exports.py WORK [NAME...]

torch.onnx.export writes decoders of random weights whose caches are transformers' DynamicCache
or StaticCache; frit generates the 64 tokens that transformers does. Needs PyTorch, transformers
and onnxscript.
"""
import subprocess
import sys
import warnings
from pathlib import Path

import frit
import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache
from transformers.integrations.executorch import register_dynamic_cache_export_support

warnings.filterwarnings("ignore")
LAYERS, GROUPS, SIZE, CONTEXT, COUNT = 2, 2, 8, 96, 64
PROMPT = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]
SIZES = dict(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=LAYERS,
             num_attention_heads=4, num_key_value_heads=GROUPS, max_position_embeddings=128)
FAMILIES = {"llama": transformers.LlamaConfig(**SIZES), "qwen2": transformers.Qwen2Config(**SIZES),
            "gemma": transformers.GemmaConfig(head_dim=SIZE, **SIZES)}
PASTS = [f"{i}.{k}" for i in range(LAYERS) for k in ("key", "value")]
DYNAMIC = torch.export.Dim.DYNAMIC


def caches(cache):
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


class Growing(torch.nn.Module):
    """Caches that grow by the rows of the call, as optimum exports them."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = DynamicCache()
        for i in range(LAYERS):
            cache.update(past[2 * i], past[2 * i + 1], i)
        out = self.model(input_ids=input_ids, attention_mask=attention_mask,
                         position_ids=position_ids, past_key_values=cache, use_cache=True)
        return (out.logits, *caches(out.past_key_values))


class Fixed(torch.nn.Module):
    """Caches of a fixed size, into which each call writes rows."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, position, *past):
        cache = StaticCache(config=self.model.config, max_cache_len=CONTEXT)
        cache.early_initialization(batch_size=1, num_heads=GROUPS, head_dim=SIZE,
                                   dtype=torch.float32, device="cpu")
        for i, layer in enumerate(cache.layers):
            layer.keys, layer.values = past[2 * i], past[2 * i + 1]
            layer.cumulative_length = position[0].clone()
        out = self.model(input_ids=input_ids, position_ids=position[None], past_key_values=cache,
                         use_cache=True)
        return (out.logits, *caches(out.past_key_values))


def make(config):
    config.bos_token_id = config.eos_token_id = config.pad_token_id = None
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                tied = config.model_type == "gemma"
                weight.normal_(0, (0.1 if tied else 1) if "embed" in name else 0.35)
        ids = model.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=COUNT,
                             attention_mask=torch.ones(1, len(PROMPT), dtype=int))
    return model, ids[0, len(PROMPT):].tolist()


def export(module, path, names, arguments, shapes):
    past = [f"past_key_values.{name}" for name in PASTS]
    program = torch.onnx.export(module, arguments, dynamo=True, dynamic_shapes=shapes,
                                input_names=[*names, *past], verbose=False,
                                output_names=["logits", *(f"present.{name}" for name in PASTS)])
    program.save(str(path))


def growing(work, name, model):
    path = work / f"{name}.onnx"
    rows = {0: DYNAMIC, 1: DYNAMIC}
    past = [torch.randn(2, GROUPS, 5, SIZE) for _ in PASTS]
    export(Growing(model), path, ["input_ids", "attention_mask", "position_ids"],
           (torch.ones(2, 3, dtype=int), torch.ones(2, 8, dtype=int),
            torch.tensor([[5, 6, 7]] * 2), *past),
           (rows, rows, rows, tuple({0: DYNAMIC, 2: DYNAMIC} for _ in PASTS)))
    artifact = work / f"{name}.so"
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={CONTEXT}", "--verify=4",
                    "-fshape=chunk=1,16", "-o", artifact], check=True)
    module = frit.load(artifact, device="cpu")
    tokens = list(module.generate(PROMPT, COUNT))
    return tokens if tokens == list(module.generate(PROMPT, COUNT, speculate="lookup")) else None


def direct(work, name, model):
    """transformers' own module, whose cache is an argument and a result."""
    register_dynamic_cache_export_support()
    path = work / f"{name}-direct.onnx"
    rows, cache = {0: DYNAMIC, 1: DYNAMIC}, DynamicCache(config=model.config)
    for i in range(LAYERS):
        cache.update(torch.randn(2, GROUPS, 5, SIZE), torch.randn(2, GROUPS, 5, SIZE), i)
    inputs = dict(input_ids=torch.ones(2, 3, dtype=int), attention_mask=torch.ones(2, 8, dtype=int),
                  position_ids=torch.tensor([[5, 6, 7]] * 2), past_key_values=cache)
    shapes = dict(input_ids=rows, attention_mask=rows, position_ids=rows,
                  past_key_values=[[{0: DYNAMIC, 2: DYNAMIC}] * LAYERS] * 2)
    torch.onnx.export(model, (), kwargs=inputs, dynamo=True, dynamic_shapes=shapes,
                      verbose=False).save(str(path))
    artifact = work / f"{name}-direct.so"
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={CONTEXT}", "-fshape=chunk=1,16",
                    "-o", artifact], check=True)
    return list(frit.load(artifact, device="cpu").generate(PROMPT, COUNT))


def fixed(work, name, model):
    path = work / f"{name}-static.onnx"
    past = [torch.zeros(1, GROUPS, CONTEXT, SIZE) for _ in PASTS]
    export(Fixed(model), path, ["input_ids", "position"],
           (torch.ones(1, 3, dtype=int), torch.arange(3), *past),
           ({1: DYNAMIC}, {0: DYNAMIC}, tuple({} for _ in PASTS)))
    artifact = work / f"{name}-static.so"
    states = [f"-fstate=past_key_values.{name}:present.{name}" for name in PASTS]
    subprocess.run(["fritc", path, "-march=x86-64-v3", "-fshape=input_ids:1x1",
                    "-fshape=position:1", *states, "-o", artifact], check=True)
    step, tokens = frit.load(artifact, device="cpu"), list(PROMPT)
    for place in range(len(PROMPT) + COUNT - 1):
        logits = np.array(step(np.array([[tokens[place]]]), np.array([place])))
        if place + 1 >= len(PROMPT):
            tokens.append(int(logits[0, -1].argmax()))
    return tokens[len(PROMPT):]


def session(work, name, model):
    """The file of `fixed` as a language model: rows are written into states in place."""
    path, artifact = work / f"{name}-static.onnx", work / f"{name}-session.so"
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={CONTEXT}", "--verify=4",
                    "-fshape=chunk=1,16", "-o", artifact], check=True)
    module = frit.load(artifact, device="cpu")
    tokens = list(module.generate(PROMPT, COUNT))
    return tokens if tokens == list(module.generate(PROMPT, COUNT, speculate="lookup")) else None


work = Path(sys.argv[1])
failures = 0
for name in sys.argv[2:] or FAMILIES:
    model, wanted = make(FAMILIES[name])
    for kind, tokens in (("dynamic", growing(work, name, model)),
                         ("direct", direct(work, name, model)),
                         *([("static", fixed(work, name, model)),
                            ("session", session(work, name, model))] if name == "llama" else [])):
        failures += tokens != wanted
        print(f"{name:8} {kind:8} {len(set(wanted)):2} different tokens  "
              f"frit {'equal' if tokens == wanted else 'DIFFERS'}", flush=True)
sys.exit(f"{failures} of the exports differ" if failures else 0)
