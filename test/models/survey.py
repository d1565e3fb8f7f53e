#!/usr/bin/env python3
"""Compiles public architectures: which of them are supported, how many
kernels they become, and whether their results equal PyTorch's.

    survey.py --out DIR [--only REGEX] [--bin build/dev/bin] [--jobs N]
              [--device cpu|cuda] [--precision fp32|fp16|bf16] [--batch N]
              [--tokens N] [--fritc FLAGS]

needs torch, torchvision, timm, transformers and onnxscript (any environment).
Weights are random, language models are cut to two layers. Models are exported
once, by both of PyTorch's exporters, into DIR. A line reports on one:

    NAME-EXPORTER  NODES nodes  kernels K (library L, attention A, copies C)
                   compile S s  error E

K counts a call's kernels for sm_90a in fp16, L those for a library to run, C
those that only move elements between others; E is the largest deviation on the
cpu by the largest value, in f32. In 16 bits, which is what runs on a GPU unless
--precision says otherwise, it goes on:

    error E (T)  MS ms (eager MS, graph MS)

E is ||out - ref|| / ||ref|| against PyTorch in f32 on the cpu, T that of
PyTorch in the same 16-bit type, and the times are of a call on the GPU: frit's,
eager PyTorch's, and those of the same kernels in a CUDA graph. A decoder's E is
at most 1.2 T, others' 1.5 T or 1e-2. Exit status 1: one was rejected or differs.
"""
import argparse
import concurrent.futures
import io
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn

sys.path.append(str(Path(__file__).parent.parent / "bench"))
from measure import measure, relative_error

TORCHVISION = """alexnet convnext_tiny densenet121 efficientnet_b0
    efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet1_0 mobilenet_v2
    mobilenet_v3_large regnet_x_8gf regnet_y_1_6gf resnet18 resnet101
    resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 swin_t swin_v2_t vgg16_bn
    vit_b_32 wide_resnet50_2""".split()
SEGMENTATION = ["deeplabv3_resnet50", "fcn_resnet50",
                "lraspp_mobilenet_v3_large"]
TIMM = """beit_base_patch16_224 cait_xxs24_224 coat_tiny coatnet_0_rw_224
    convmixer_768_32 davit_tiny deit_small_patch16_224 dla34 edgenext_small
    efficientformer_l1 eva02_tiny_patch14_224 fastvit_t8 focalnet_tiny_srf
    ghostnet_100 hiera_tiny_224 hrnet_w18 levit_128 mixer_b16_224 mobileone_s0
    mobilevit_s nfnet_f0 poolformer_s12 pvt_v2_b0 repvgg_a0 resnest50d
    resnetv2_50 seresnet50 tf_efficientnetv2_b0 vit_small_patch14_dinov2
    xcit_tiny_12_p16_224""".split()
# Class, its configuration, its inputs, and non-default settings.
TWO = dict(num_hidden_layers=2)
WIDE = dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
GROUPED = dict(hidden_size=1024, num_attention_heads=16, num_key_value_heads=4,
               intermediate_size=2816)
ENCODERS = {
    "albert": ("AlbertModel", WIDE | TWO),
    "bert": ("BertModel", TWO),
    "deberta_v2": ("DebertaV2Model", WIDE | TWO | dict(
        relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=256)),
    "distilbert": ("DistilBertModel", dict(n_layers=2)),
    "electra": ("ElectraModel", TWO),
    "modernbert": ("ModernBertModel", dict(num_hidden_layers=4)),
    "mpnet": ("MPNetModel", TWO),
    "roberta": ("RobertaModel", TWO),
    "t5": ("T5EncoderModel", dict(num_layers=2)),
}
DECODERS = {
    "bloom": ("BloomForCausalLM", dict(hidden_size=512, n_layer=2, n_head=8)),
    "gemma2": ("Gemma2ForCausalLM", TWO | dict(
        hidden_size=1152, num_attention_heads=4, num_key_value_heads=1,
        head_dim=256, intermediate_size=2304, sliding_window=64)),
    "gpt2": ("GPT2LMHeadModel", dict(n_layer=2)),
    "gpt_neox": ("GPTNeoXForCausalLM", TWO | dict(
        hidden_size=512, num_attention_heads=8, intermediate_size=2048)),
    "llama": ("LlamaForCausalLM", GROUPED | TWO),
    "mamba": ("MambaForCausalLM", TWO | dict(hidden_size=256)),
    "mistral": ("MistralForCausalLM", GROUPED | TWO | dict(sliding_window=64)),
    "opt": ("OPTForCausalLM", TWO),
    "phi3": ("Phi3ForCausalLM", TWO | dict(
        hidden_size=1024, num_attention_heads=16, intermediate_size=2816,
        pad_token_id=0)),
    "qwen2": ("Qwen2ForCausalLM", GROUPED | TWO),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | TWO),
}
SEEING = {
    "clip": ("CLIPVisionModel", TWO, (3, 224, 224)),
    "detr": ("DetrForObjectDetection", dict(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=None, encoder_layers=2, decoder_layers=2),
        (3, 320, 320)),
    "dinov2": ("Dinov2Model", TWO, (3, 224, 224)),
    "segformer": ("SegformerForSemanticSegmentation", {}, (3, 256, 256)),
    "siglip": ("SiglipVisionModel", TWO, (3, 224, 224)),
    "swin2sr": ("Swin2SRForImageSuperResolution", dict(
        depths=[2, 2], num_heads=[6, 6], embed_dim=180), (3, 64, 64)),
    "vit": ("ViTModel", TWO, (3, 224, 224)),
    "wav2vec2": ("Wav2Vec2Model", TWO, (16000,)),
    "whisper": ("WhisperForAudioClassification", dict(
        encoder_layers=2, encoder_attention_heads=6, d_model=384,
        encoder_ffn_dim=1536), (80, 3000)),
}


class First(nn.Module):
    """The first output of a model with inputs by name."""

    def __init__(self, model: nn.Module, names: list[str], **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *values: Tensor) -> Tensor:
        return self.model(**dict(zip(self.names, values)), **self.fixed)[0]


Case = tuple[nn.Module, tuple[Tensor, ...]]


def vision(name: str, batch: int, size: int = 224) -> Case:
    import torchvision
    options = {}
    if name in ("googlenet", "inception_v3"):
        options = dict(aux_logits=False, init_weights=True)
    if name in SEGMENTATION:
        options = dict(weights_backbone=None)
    model = torchvision.models.get_model(name, weights=None, **options)
    if name in SEGMENTATION:
        model, inner = nn.Module(), model
        model.inner = inner
        model.forward = lambda x: inner(x)["out"]
    return model, (torch.randn(batch, 3, size, size),)


def film(batch: int) -> Case:
    import torchvision
    model = torchvision.models.video.r3d_18(weights=None)
    return model, (torch.randn(batch, 3, 8, 112, 112),)


def image(name: str, batch: int) -> Case:
    import timm
    model = timm.create_model(name, pretrained=False)
    return model, (torch.randn(batch, *model.default_cfg["input_size"]),)


def transformer(batch: int, tokens: int, kind: str, options: dict,
                shape: tuple = (), **fixed) -> Case:
    import transformers
    cls = getattr(transformers, kind)
    config = cls.config_class(**options)
    if shape:
        names, values = [cls.main_input_name], [torch.randn(batch, *shape)]
    else:
        names = ["input_ids", "attention_mask"][:1 if fixed else 2]
        values = [torch.randint(1, config.vocab_size, (batch, tokens)),
                  torch.ones(batch, tokens, dtype=torch.long)][:len(names)]
    model = First(cls(config), names, return_dict=True, **fixed)
    return model, tuple(values)


def cases(batch: int, tokens: int) -> dict[str, Callable[[], Case]]:
    found = {name: partial(vision, name, batch,
                           299 if name == "inception_v3" else 224)
             for name in TORCHVISION}
    found |= {name: partial(vision, name, batch, 256)
              for name in SEGMENTATION}
    found["r3d_18"] = partial(film, batch)
    found |= {name: partial(image, name, batch) for name in TIMM}
    found |= {name: partial(transformer, batch, tokens, *a)
              for name, a in (ENCODERS | SEEING).items()}
    found |= {name: partial(transformer, batch, tokens, *a, use_cache=False)
              for name, a in DECODERS.items()}
    return found


def seeded(build: Callable[[], Case]) -> Case:
    """Seeds weights and inputs, so that they are the same each time."""
    torch.manual_seed(0)
    model, inputs = build()
    for part in model.eval().modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(std=0.1)
            part.running_var.uniform_(0.5, 1.5)
    return model, inputs


@torch.no_grad()
def write(build: Callable[[], Case], exporter: str, path: Path) -> None:
    """The model, its inputs and what PyTorch makes of them, beside `path`."""
    model, inputs = seeded(build)
    y = model(*inputs)
    y = y[0] if isinstance(y, (tuple, list)) else y
    options = (dict(dynamo=True, verbose=False, external_data=False)
               if exporter == "dynamo" else
               dict(dynamo=False, opset_version=17))
    with redirect_stdout(io.StringIO()):  # what it says where it fails
        torch.onnx.export(model, inputs, path, **options)
    graph = onnx.load(path).graph
    np.savez(path.with_suffix(".in.npz"), **{
        i.name: x.numpy() for i, x in zip(graph.input, inputs)})
    np.savez(path.with_suffix(".out.npz"), **{graph.output[0].name: y.numpy()})


def call(*command) -> tuple[subprocess.CompletedProcess, float]:
    """Runs a command that must succeed; returns it and its seconds."""
    start = time.time()
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done, time.time() - start


def given(path: Path) -> str:
    return f"--input=@{path.with_suffix('.in.npz')}"


def library_calls(fused: str) -> int:
    """Counts schedules of cuBLAS and cuDNN: codegen/cuda/library/*.td."""
    return len(re.findall(r"schedule\(#cuda\.(?:cublas|cudnn)_", fused))


def compiled(path: Path, args: argparse.Namespace) -> str:
    """Compiles a model; the library goes next to it."""
    done, _ = call(args.bin / "fritc", "-march=sm_90a", "-fprecision=fp16",
                   "-Rpass-missed=fusion", *args.fritc, "--emit=fused", path,
                   "-o", "-")
    main = done.stdout.split("func.func @prepare")[0]
    kernels = len(re.findall(r"= nn\.fusion\(", main))
    libraries = library_calls(main)
    attentions = len(re.findall(r"= nn\.attention ", main))
    copies = done.stderr.count("only moves elements")
    march = "x86-64-v3" if args.device == "cpu" else "sm_90a"
    _, seconds = call(args.bin / "fritc", f"-march={march}",
                      f"-fprecision={args.precision}", *args.fritc, path, "-o",
                      path.with_suffix(".so"))
    return (f"{len(onnx.load(path).graph.node)} nodes  kernels {kernels} "
            f"(library {libraries}, attention {attentions}, copies {copies})  "
            f"compile {seconds:.1f} s")


def outputs(path: Path, args: argparse.Namespace
            ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the library's results and PyTorch's."""
    result = path.with_suffix(".frit.npz")
    call(args.bin / "frit-run", path.with_suffix(".so"),
         f"--device={args.device}", given(path), f"--output=@{result}")
    with (np.load(path.with_suffix(".out.npz")) as expected,
          np.load(result) as found):
        (name,) = expected.files
        return found[name].astype(np.float64), expected[name].astype(np.float64)


def in_32_bits(path: Path, args: argparse.Namespace) -> str:
    out, expected = outputs(path, args)
    error = np.abs(out - expected).max() / (np.abs(expected).max() or 1)
    text = f"error {error:.1e}"
    if not error <= 1e-4:
        raise RuntimeError(text)
    return text


def milliseconds(step: Callable[[], object]) -> float:
    return measure(lambda _: step(), seconds=0.5)["ms"]


def narrowed(build: Callable[[], Case], args: argparse.Namespace) -> Case:
    """The model and its inputs in 16 bits, on the device."""
    model, inputs = seeded(build)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[args.precision]
    return model.to(args.device, dtype), tuple(
        x.to(args.device, dtype if x.is_floating_point() else x.dtype)
        for x in inputs)


def first(y) -> np.ndarray:
    y = y[0] if isinstance(y, (tuple, list)) else y
    return y.float().cpu().numpy().astype(np.float64)


@torch.no_grad()
def pytorch(build: Callable[[], Case],
            args: argparse.Namespace) -> tuple[np.ndarray, str]:
    """In 16 bits: the output, and milliseconds on a GPU."""
    model, inputs = narrowed(build, args)
    if args.device == "cpu":
        return first(model(*inputs)), ""
    torch.backends.cudnn.benchmark = True
    if any(isinstance(part, nn.Conv2d) for part in model.modules()):
        model = model.to(memory_format=torch.channels_last)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step = partial(model, *inputs)
        eager = milliseconds(step)
        y = step()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream):
                step()
            replayed = milliseconds(graph.replay)
        except RuntimeError:  # what it does on the host is in no graph
            replayed = float("nan")
    return first(y), f"(eager {eager:.3f}, graph {replayed:.3f})"


def in_16_bits(path: Path, name: str, args: argparse.Namespace) -> str:
    out, expected = outputs(path, args)
    error = relative_error(out, expected)
    half, times = pytorch(cases(args.batch, args.tokens)[name], args)
    theirs = relative_error(half, expected)
    text = f"error {error:.1e} ({theirs:.1e})"
    if args.device == "cuda":
        done, _ = call(args.bin / "frit-run", path.with_suffix(".so"),
                       given(path), "--bench", "--duration=500ms",
                       "--no-transfers", "--json")
        text += f"  {json.loads(done.stdout)['ms']:.3f} ms {times}"
    bound = 1.2 * theirs if name in DECODERS else max(1e-2, 1.5 * theirs)
    # Random weights are too large for f16 in some.
    if np.isfinite(theirs) and not error <= bound:
        raise RuntimeError(text)
    return text


def path_of(name: str, exporter: str, args: argparse.Namespace) -> Path:
    size = f"-b{args.batch}" if args.batch > 1 else ""
    size += f"-s{args.tokens}" if args.tokens != 128 else ""
    return args.out / f"{name}{size}-{exporter}.onnx"


def prepare(name: str, exporter: str,
            args: argparse.Namespace) -> tuple[str, str]:
    """Exports and compiles a model; returns a short and a long report."""
    torch.set_num_threads(max(1, os.cpu_count() // args.jobs))
    warnings.filterwarnings("ignore")
    path = path_of(name, exporter, args)
    try:
        if not path.exists():
            write(cases(args.batch, args.tokens)[name], exporter, path)
    except Exception as error:  # PyTorch's, not ours
        path.unlink(missing_ok=True)
        return "not exported", (str(error).splitlines() or [""])[0][:80]
    try:
        return "taken", compiled(path, args)
    except RuntimeError as error:
        return "FAILED", str(error)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="regex of NAME-EXPORTER")
    parser.add_argument("--bin", type=Path, default=Path("build/dev/bin"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--fritc", type=str.split, default=[], metavar="FLAGS")
    parser.add_argument("--jobs", type=int, default=1,
                        help="models that are exported and compiled at once")
    args = parser.parse_args()
    args.precision = args.precision or ("fp32" if args.device == "cpu" else
                                        "fp16")
    args.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    count = dict.fromkeys(("taken", "FAILED", "not exported"), 0)
    with concurrent.futures.ProcessPoolExecutor(
            args.jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = [(name, exporter, pool.submit(prepare, name, exporter, args))
                   for name in cases(args.batch, args.tokens)
                   for exporter in ("dynamo", "torchscript")
                   if re.search(args.only, f"{name}-{exporter}")]
        for name, exporter, done in waiting:
            path = path_of(name, exporter, args)
            became, text = done.result()
            try:
                if became == "taken":
                    text += "  " + (in_32_bits(path, args)
                                    if args.precision == "fp32" else
                                    in_16_bits(path, name, args))
            except RuntimeError as error:
                became, text = "FAILED", f"{text}  {error}"
            path.with_suffix(".so").unlink(missing_ok=True)
            count[became] += 1
            said = "" if became == "taken" else f"{became}: "
            print(f"{path.stem}  {said}{text}", flush=True)
    print(", ".join(f"{n} {became}" for became, n in count.items()))
    sys.exit(count["FAILED"] > 0 or count["taken"] == 0)


if __name__ == "__main__":
    main()
