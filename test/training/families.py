#!/usr/bin/env python3
"""Trains public architectures for a few steps beside PyTorch.

    families.py --out DIR [--only REGEX] [--bin build/dev/bin] [--steps N]
              [--device cpu|cuda] [--exporter dynamo|script]
              [--precision fp32|amp-bf16]

needs torch, torchvision, timm and transformers (any environment). Models have
random weights, no dropout, small images and few layers. --exporter says which
of PyTorch's exporters writes the file, in the way that keeps batch norms and
the weights' names. A line reports on one:

    NAME  W weights  compile S s  loss L -> L  error E (T)

E is the largest deviation of a step's loss, by the loss, from PyTorch's in f64
on the cpu with the same weights and data, T that of PyTorch in f32, or with
autocast to bf16. Exit status 1: a model was rejected, or E exceeds both 1e-3, or
2e-2, and 3 T.
"""
import argparse
import copy
import io
import json
import re
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).parent.parent / "models"))
sys.path.append(str(Path(__file__).parent))
import architectures  # noqa: E402
from runtime import Step  # noqa: E402

TWO = dict(num_hidden_layers=2, vocab_size=512)
SMALL = dict(hidden_size=128, num_attention_heads=4, intermediate_size=256)
GROUPED = SMALL | dict(num_key_value_heads=2)
LANGUAGE = {
    "bert": ("BertForMaskedLM", TWO | SMALL),
    "albert": ("AlbertForMaskedLM", TWO | SMALL),
    "deberta_v2": ("DebertaV2ForMaskedLM", TWO | SMALL | dict(
        relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=32)),
    "distilbert": ("DistilBertForMaskedLM", dict(
        n_layers=2, dim=128, n_heads=4, hidden_dim=256, vocab_size=512)),
    "electra": ("ElectraForMaskedLM", TWO | SMALL),
    "modernbert": ("ModernBertForMaskedLM", TWO | SMALL | dict(
        pad_token_id=0, eos_token_id=1, bos_token_id=1, cls_token_id=1,
        sep_token_id=1)),
    "mpnet": ("MPNetForMaskedLM", TWO | SMALL),
    "roberta": ("RobertaForMaskedLM", TWO | SMALL),
}
DECODERS = {
    "bloom": ("BloomForCausalLM", dict(
        hidden_size=128, n_layer=2, n_head=4, vocab_size=512)),
    "gemma2": ("Gemma2ForCausalLM", TWO | GROUPED | dict(
        head_dim=32, sliding_window=16)),
    "gpt2": ("GPT2LMHeadModel", dict(
        n_layer=2, n_embd=128, n_head=4, vocab_size=512)),
    "gpt_neox": ("GPTNeoXForCausalLM", TWO | SMALL),
    "llama": ("LlamaForCausalLM", TWO | GROUPED),
    "mamba": ("MambaForCausalLM", dict(
        num_hidden_layers=2, vocab_size=512, hidden_size=64)),
    "mistral": ("MistralForCausalLM", TWO | GROUPED | dict(sliding_window=16)),
    "opt": ("OPTForCausalLM", TWO | dict(
        hidden_size=128, num_attention_heads=4, ffn_dim=256,
        word_embed_proj_dim=128)),
    "phi3": ("Phi3ForCausalLM", TWO | GROUPED | dict(pad_token_id=0)),
    "qwen2": ("Qwen2ForCausalLM", TWO | GROUPED),
    "qwen3": ("Qwen3ForCausalLM", TWO | GROUPED | dict(head_dim=32)),
}
SEEING = {
    "segformer": ("SegformerForSemanticSegmentation", dict(
        depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 128],
        decoder_hidden_size=64), (3, 64, 64)),
    "vit": ("ViTForImageClassification", dict(
        image_size=64, num_labels=10, num_hidden_layers=2) | SMALL, (3, 64, 64)),
    "dinov2": ("Dinov2ForImageClassification", dict(
        image_size=56, num_labels=10, num_hidden_layers=2, hidden_size=128,
        num_attention_heads=4), (3, 56, 56)),
}


class Lstm(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.rnn = getattr(nn, kind)(32, 48, num_layers=2, batch_first=True)
        self.head = nn.Linear(48, 64)

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


class Unet(nn.Module):
    """Group norm, SiLU, transposed convolution, skips."""

    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1),
                                 nn.GroupNorm(4, o), nn.SiLU())
        self.down1, self.down2 = block(3, 16), block(16, 32)
        self.middle, self.pool = block(32, 32), nn.AvgPool2d(2)
        self.up = nn.ConvTranspose2d(32, 32, 2, stride=2)
        self.resize = nn.Upsample(scale_factor=2, mode="bilinear")
        self.up1, self.up2 = block(64, 16), block(32, 16)
        self.head = nn.Conv2d(16, 10, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        y = self.middle(self.pool(b))
        y = self.up1(torch.cat([self.up(y), b], 1))
        return self.head(self.up2(torch.cat([self.resize(y), a], 1)))


def language(kind, options, **fixed):
    import transformers
    cls = getattr(transformers, kind)
    ids = torch.randint(2, 512, (2, 32))
    return architectures.First(cls(cls.config_class(**options)), ["input_ids"],
                               return_dict=True, **fixed), (ids,)


def seeing(kind, options, shape):
    import transformers
    cls = getattr(transformers, kind)
    return architectures.First(
        cls(cls.config_class(**options)), ["pixel_values"],
        return_dict=True), (torch.randn(4, *shape),)


def vision(name):
    sizes = dict(inception_v3=128, maxvit_t=224)
    model, (x,) = architectures.vision(name, 4, sizes.get(name, 64))
    return model, (x,)


def image(name):
    import timm
    try:
        model = timm.create_model(name, pretrained=False, img_size=64)
    except TypeError:
        model = timm.create_model(name, pretrained=False)
    size = 64
    try:
        with torch.no_grad():
            model.eval()(torch.randn(2, 3, size, size))
    except Exception:  # made for one size
        model = timm.create_model(name, pretrained=False)
        size = model.default_cfg["input_size"][-1]
    return model, (torch.randn(4, 3, size, size),)


def cases():
    found = {n: partial(vision, n) for n in architectures.TORCHVISION
             if n not in ("swin_v2_t", "resnet101", "vgg16_bn")}
    found |= {n: partial(image, n) for n in architectures.TIMM}
    found |= {n: partial(language, *a) for n, a in LANGUAGE.items()}
    found |= {n: partial(language, *a, use_cache=False)
              for n, a in DECODERS.items()}
    found |= {n: partial(seeing, *a) for n, a in SEEING.items()}
    for kind in ("LSTM", "GRU"):
        found[kind.lower()] = lambda kind=kind: (
            Lstm(kind), (torch.randint(0, 64, (4, 16)),))
    found["unet"] = lambda: (Unet(), (torch.randn(4, 3, 32, 32),))
    return found


def without_chance(model):
    for part in model.modules():
        for name in ("p", "drop_prob"):
            if isinstance(getattr(part, name, None), float) and re.search(
                    "Drop|Stochastic", type(part).__name__):
                setattr(part, name, 0.0)
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
        if isinstance(getattr(part, "attention_dropout", None), float):
            part.attention_dropout = 0.0
    return model.train()


def loss_of(y, labels):
    """Class scores are last in a sequence, second in an image."""
    if y.dim() == 3:
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), labels.reshape(-1))
    return F.cross_entropy(y, labels)


def export(model, x, path, exporter):
    options = (dict(dynamo=True, optimize=False, verbose=False,
                    external_data=False)
               if exporter == "dynamo" else
               dict(dynamo=False, opset_version=18, do_constant_folding=False,
                    training=torch.onnx.TrainingMode.TRAINING))
    with redirect_stdout(io.StringIO()):
        torch.onnx.export(model, (x,), path, input_names=["x"],
                          output_names=["logits"], **options)


def run(model, x, labels, args, half=False):
    """The losses of PyTorch's steps; with `half`, autocast to bf16."""
    sgd = torch.optim.SGD(model.parameters(), lr=args.rate, momentum=0.9)
    losses = []
    for _ in range(args.steps):
        sgd.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            y = model(x)
        loss = loss_of(y if y.dtype == torch.float64 else y.float(), labels)
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses


def train(name, make, args):
    torch.manual_seed(0)
    model, (x,) = make()
    model = without_chance(model)
    with torch.no_grad():
        y = model(x)
        torch.manual_seed(0)
        model, (x,) = make()  # running statistics as before that call
        model = without_chance(model)
    classes = y.shape[1] if y.dim() == 4 else y.shape[-1]
    shape = (y.shape[0], *y.shape[2:]) if y.dim() == 4 else y.shape[:-1]
    labels = torch.randint(0, classes, shape)
    path = args.out / f"{name}.onnx"
    export(model, x, path, args.exporter)
    optimizer = dict(kind="sgd", learning_rate=args.rate, momentum=0.9)
    loss = dict(kind="cross_entropy", axis=1 if y.dim() == 4 else -1)
    described = args.out / f"{name}.json"
    described.write_text(json.dumps(
        {"loss": loss, "optimizer": optimizer}))
    march = "x86-64-v3" if args.device == "cpu" else "sm_90a"
    start = time.time()
    done = subprocess.run(
        [args.bin / "fritc", f"--train={described}", f"-march={march}",
         f"-fprecision={args.precision}", path, "-o", path.with_suffix(".so")],
        capture_output=True, text=True, timeout=args.limit)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[:1000])
    seconds = time.time() - start
    step = Step(path.with_suffix(".so"), args.device)
    count = sum(p.numel() for p in model.parameters())
    exact = copy.deepcopy(model).double()
    exact_x = x.double() if x.is_floating_point() else x
    half = args.precision != "fp32"
    losses = run(exact, exact_x, labels, args)
    single = run(model, x, labels, args, half)
    found = [float(step.train(x=x.numpy(), labels=labels.numpy())["loss"])
             for _ in range(args.steps)]
    error, theirs = (max(abs(a / b - 1) for a, b in zip(of, losses))
                     for of in (found, single))
    text = (f"{count} weights  compile {seconds:.1f} s  loss {losses[0]:.4f} "
            f"-> {losses[-1]:.4f}  error {error:.1e} ({theirs:.1e})")
    if not error <= max(2e-2 if half else 1e-3, 3 * theirs):
        raise RuntimeError(text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--bin", type=Path, default=Path("build/dev/bin"))
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--exporter", default="script")
    parser.add_argument("--precision", default="fp32",
                        choices=("fp32", "amp-bf16"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    failed = False
    for name, make in cases().items():
        if not re.search(args.only, name):
            continue
        try:
            text = train(name, make, args)
        except Exception as error:
            failed, text = True, f"FAILED {type(error).__name__}: {error}"
        print(f"{name:28}", text, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
