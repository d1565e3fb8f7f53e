"""Runs models of torchvision and transformers, at small sizes, through
torch.compile(backend="frit").

    torch_models.py DEVICE
"""
import time

import torch
import torchvision.models as vision
import transformers as text

from torch_support import DEVICE, compiled, images, run_tests, same, told


def test_models():
    small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=128, vocab_size=200)
    ids = torch.randint(0, 200, (2, 16), device=DEVICE)
    image = images(1, 3, 64, 64)
    models = {
        "resnet18": (lambda: vision.resnet18(), image),
        "mobilenet_v3_small": (lambda: vision.mobilenet_v3_small(), image),
        "efficientnet_b0": (lambda: vision.efficientnet_b0(), image),
        "densenet121": (lambda: vision.densenet121(), image),
        "convnext_tiny": (lambda: vision.convnext_tiny(), image),
        "swin_t": (lambda: vision.swin_t(), image),
        "bert": (lambda: text.BertModel(text.BertConfig(**small)), ids),
        "gpt2": (lambda: text.GPT2LMHeadModel(text.GPT2Config(
            n_embd=64, n_layer=2, n_head=4, vocab_size=200, use_cache=False)),
            ids),
        "llama": (lambda: text.LlamaForCausalLM(text.LlamaConfig(
            **small, num_key_value_heads=2, use_cache=False)), ids),
        "t5 encoder": (lambda: text.T5EncoderModel(text.T5Config(
            d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
            vocab_size=200)), ids),
    }
    for name, (build, x) in models.items():
        model = build().to(DEVICE).eval()
        fast = compiled(model)
        start = time.time()
        reasons = told(lambda: same(fast, model, x, tolerance=2e-3))
        print(f"  {name}: {time.time() - start:.1f} s, "
              f"{'; '.join(reasons) or 'compiled'}", flush=True)
        assert not reasons


run_tests(globals())
