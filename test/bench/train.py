"""Times training steps of frit and of PyTorch in the same run, and compares
their losses.

    train.py [--only NAME] [--backends frit,eager,compile,xla] [--steps N] BIN

BIN has fritc; FRIT_RUNTIME names the runtime as a shared library. Each result
is a line of JSON: milliseconds a step, peak MiB of device memory, and `loss`,
the largest relative deviation from PyTorch's loss over the first steps, from the
same weights on the same data.
"""
import argparse
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from runtime import Step  # noqa: E402
from decoders import DECODERS  # noqa: E402
from networks import Language, Llama, UNet  # noqa: E402
from repeated import export_blocks  # noqa: E402


def vision(name):
    import torchvision
    return lambda: getattr(torchvision.models, name)(weights=None)


def tokens(batch, length, vocab):
    return lambda: (torch.randint(0, vocab, (batch, length)),
                    torch.randint(0, vocab, (batch, length)))


def images(batch):
    return lambda: (torch.randn(batch, 3, 224, 224),
                    torch.randint(0, 1000, (batch,)))


def noised(batch, channels, size):
    """Noisy latents with their time steps, and the noise."""
    return lambda: ((torch.randn(batch, channels, size, size),
                     torch.randint(0, 1000, (batch,))),
                    torch.randn(batch, channels, size, size))


ADAMW = {"kind": "adamw", "learning_rate": 1e-4, "weight_decay": 0.01}
SGD = {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.9,
       "weight_decay": 1e-4}

# Name: model, data, optimizer, precision. The loss of numbers is the mean of
# squares, that of classes is cross-entropy.
ROWS = {
    "gpt-4x256/fp32": (lambda: Language(4, 4, 256, 1000, 128, True),
                       tokens(4, 128, 1000), ADAMW, "fp32"),
    "bert-4x256/fp32": (lambda: Language(4, 4, 256, 1000, 128, False),
                        tokens(4, 128, 1000), ADAMW, "fp32"),
    "gpt-4x256/amp-bf16": (lambda: Language(4, 4, 256, 1000, 128, True),
                           tokens(4, 128, 1000), ADAMW, "amp-bf16"),
    "bert-4x256/amp-fp16": (lambda: Language(4, 4, 256, 1000, 128, False),
                            tokens(4, 128, 1000), ADAMW, "amp-fp16"),
    "llama-4x256/fp32": (lambda: Llama(4, 8, 2, 256, 704, 1000, 128),
                         tokens(4, 128, 1000), ADAMW, "fp32"),
    "llama-4x256/amp-bf16": (lambda: Llama(4, 4, 2, 256, 704, 1000, 128),
                             tokens(4, 128, 1000), ADAMW, "amp-bf16"),
    "unet-32/fp32": (lambda: UNet(32, (1, 2), 1, 16, {16, 8}), noised(2, 4, 16),
                     ADAMW, "fp32"),
    "unet-32/amp-bf16": (lambda: UNet(32, (1, 2), 1, 16, {16, 8}), noised(2, 4, 16),
                         ADAMW, "amp-bf16"),
    "resnet18-b16/fp32": (vision("resnet18"), images(16), SGD, "fp32"),
    "resnet50-b256/amp-bf16": (vision("resnet50"), images(256), SGD, "amp-bf16"),
    "bert-large-b32-s512/amp-bf16": (
        lambda: Language(24, 16, 1024, 30522, 512, False),
        tokens(32, 512, 30522), ADAMW, "amp-bf16"),
    "gpt3-small-b16-s1024/amp-bf16": (
        lambda: Language(12, 12, 768, 50304, 2048, True),
        tokens(16, 1024, 50257), ADAMW, "amp-bf16"),
    "llama-300m-b8-s2048/amp-bf16": (
        lambda: Llama(22, 16, 4, 1024, 2816, 32000, 2048),
        tokens(8, 2048, 32000), ADAMW, "amp-bf16"),
    "bert-large-b32-s512/amp-fp8": (
        lambda: Language(24, 16, 1024, 30522, 512, False),
        tokens(32, 512, 30522), ADAMW, "amp-fp8"),
    "gpt3-small-b16-s1024/amp-fp8": (
        lambda: Language(12, 12, 768, 50304, 2048, True),
        tokens(16, 1024, 50257), ADAMW, "amp-fp8"),
    **{f"llama-1b{part}-b4-s2048/{precision}": (
        lambda layers=layers: Llama(layers, 32, 8, 2048, 8192, 32000, 2048),
        tokens(4, 2048, 32000), ADAMW, precision)
       for part, layers in (("-quarter", 4), ("", 16))
       for precision in ("amp-bf16", "amp-fp8")},
    "vit-b16-b128/amp-bf16": (vision("vit_b_16"), images(128), ADAMW, "amp-bf16"),
    "unet-b32/amp-bf16": (lambda: UNet(192, (1, 2, 3, 4), 2, 64, {32, 16, 8}),
                          noised(32, 4, 64), ADAMW, "amp-bf16"),
    "convnext-t-b128/amp-bf16": (vision("convnext_tiny"), images(128), ADAMW,
                                 "amp-bf16"),
}
# Batches of 8192 tokens.
ROWS |= {f"{name}-b{8192 // length}-s{length}/amp-bf16":
         (build, tokens(8192 // length, length, vocabulary), ADAMW, "amp-bf16")
         for name, (build, length, vocabulary) in DECODERS.items()}


# Bytes of weights from which a network is exported by two of its layers: an ONNX
# file has at most 2 GB.
MOST_EXPORTED = 1 << 31


def make_batches(data, steps):
    """The batches of all steps, the same in every process; 8 that differ."""
    torch.manual_seed(0)
    batches = [data() for _ in range(min(max(steps, 1), 8))]
    return [batches[i % len(batches)] for i in range(max(steps, 1))]


def timed(call, stream, seconds):
    """Median milliseconds of a call on `stream`."""
    times, start = [], time.time()
    while len(times) < 10 or time.time() - start < seconds:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        stream.synchronize()
        begin.record(stream)
        call()
        end.record(stream)
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return round(statistics.median(times), 3)


def named(x, y):
    """A batch by the names of the artifact's inputs."""
    if isinstance(x, tuple):
        return dict(x=x[0], t=x[1], target=y)
    return dict(x=x, labels=y)


def export(model, inputs, optimizer, folder, dynamic_axes=None):
    """Writes m.onnx and train.json. The last input is the loss's target."""
    *names, target = inputs
    arguments = tuple(inputs[n] for n in names)
    bytes_of = sum(4 * p.numel() for p in model.parameters())
    if hasattr(model, "blocks") and bytes_of > MOST_EXPORTED:
        export_blocks(model, arguments, folder / "m.onnx", opset_version=18,
                      input_names=names, output_names=["logits"],
                      do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING)
    elif getattr(model, "exporter", None) == "dynamo":
        torch.onnx.export(model, arguments, folder / "m.onnx", dynamo=True,
                          optimize=False, verbose=False, input_names=names,
                          output_names=["logits"])
    else:
        torch.onnx.export(model, arguments, folder / "m.onnx", dynamo=False,
                          opset_version=18, input_names=names,
                          output_names=["logits"], do_constant_folding=False,
                          dynamic_axes=dynamic_axes,
                          training=torch.onnx.TrainingMode.TRAINING)
    kind = "mse" if target == "target" else "cross_entropy"
    (folder / "train.json").write_text(json.dumps(
        {"loss": {"kind": kind}, "optimizer": optimizer}))


def loss_of(z, y):
    """PyTorch's loss of a row."""
    if y.is_floating_point():
        return F.mse_loss(z.float(), y)
    return F.cross_entropy(z.reshape(-1, z.shape[-1]).float(), y.reshape(-1))


def optimizer_of(model, optimizer):
    """PyTorch's fused optimizer of a row."""
    kind = torch.optim.AdamW if optimizer["kind"] == "adamw" else torch.optim.SGD
    more = {"momentum": optimizer["momentum"]} if "momentum" in optimizer else {}
    return kind(model.parameters(), lr=optimizer["learning_rate"], fused=True,
                weight_decay=optimizer["weight_decay"], **more)


def placed(tensor):
    """A tensor on the GPU, images with channels last."""
    tensor = tensor.cuda()
    return (tensor.to(memory_format=torch.channels_last) if tensor.dim() == 4
            else tensor)


def place_model(model):
    """A model that trains on the GPU, with channels last if it has convolutions."""
    model = model.train().cuda()
    if any(isinstance(m, nn.Conv2d) for m in model.modules()):
        model = model.to(memory_format=torch.channels_last)
    return model


def used_memory():
    free, total = torch.cuda.mem_get_info()
    return (total - free) >> 20


def run_frit(args, folder, model, batches, optimizer, precision):
    inputs = named(*batches[0])
    start = time.time()
    # Exporting runs the model, which takes long on the host.
    export(model.cuda(), {name: t.cuda() for name, t in inputs.items()},
           optimizer, folder)
    del model
    gc.collect()
    torch.cuda.empty_cache()
    exported = time.time()
    done = subprocess.run(
        [f"{args.bin}/fritc", f"--train={folder}/train.json", "-march=sm_90a",
         f"-fprecision={precision}", folder / "m.onnx", "-o", folder / "m.so",
         "-ftime-report", *args.flags.split()], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    compiled = time.time()
    before = used_memory()
    step = Step(folder / "m.so", "cuda")
    losses = [float(step.train(**{name: tensor.numpy() for name, tensor
                                  in named(*batch).items()})["loss"])
              for batch in batches[:args.steps]]
    stream = torch.cuda.ExternalStream(step.stream())
    inputs = {name: tensor.cuda() for name, tensor in inputs.items()}
    torch.cuda.synchronize()
    call = lambda: step.enqueue(inputs)
    call()
    result = dict(ms=timed(call, stream, args.seconds),
                  peak_MiB=used_memory() - before,
                  export_s=round(exported - start, 1),
                  compile_s=round(compiled - exported, 1))
    if args.profile:
        result["profile"] = step.profile(inputs)[:args.profile]
    step.close()
    return result, losses


def run_torch(args, backend, model, batches, optimizer, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.benchmark = True
    model = place_model(model)
    data = [[placed(tensor) for tensor in named(x, y).values()]
            for x, y in batches]
    update = optimizer_of(model, optimizer)
    network = torch.compile(model, dynamic=False) if backend == "compile" else model
    dtype = torch.float16 if precision == "amp-fp16" else torch.bfloat16
    scaler = torch.amp.GradScaler(enabled=precision == "amp-fp16")

    def call(*x, y):
        with torch.autocast("cuda", dtype, enabled=precision != "fp32"):
            loss = loss_of(network(*x), y)
        scaler.scale(loss).backward()
        scaler.step(update)
        scaler.update()
        update.zero_grad(set_to_none=True)
        return loss

    losses = [call(*x, y=y).item() for *x, y in data[:args.steps]]
    torch.cuda.reset_peak_memory_stats()
    *x, y = data[0]
    result = dict(ms=timed(lambda: call(*x, y=y), torch.cuda.current_stream(),
                           args.seconds),
                  peak_MiB=torch.cuda.max_memory_allocated() >> 20)
    return result, losses


def run_xla(args, name):
    """In a process of its own: what JAX allocates stays with it."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("train_xla.py"), name,
         f"--steps={args.steps}", f"--seconds={args.seconds}"],
        capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    result = json.loads(done.stdout.splitlines()[-1])
    return result, result.pop("losses")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--only", default=".")
    parser.add_argument("--backends", default="frit,eager,compile,xla")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--flags", default="", help="of fritc")
    parser.add_argument("--profile", type=int, default=0,
                        help="list this many of the longest steps")
    args = parser.parse_args()
    print(json.dumps(dict(gpu=torch.cuda.get_device_name(),
                          torch=torch.__version__)), flush=True)
    for name, (make, data, optimizer, precision) in ROWS.items():
        if not re.search(args.only, name):
            continue
        batches = make_batches(data, args.steps)
        reference = None
        for backend in ("eager", "compile", "xla", "frit"):
            if backend not in args.backends.split(","):
                continue
            torch.manual_seed(1)
            torch._dynamo.reset()
            gc.collect()
            torch.cuda.empty_cache()
            try:
                with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as f:
                    if backend == "frit":
                        result, losses = run_frit(args, Path(f), make().train(),
                                                  batches, optimizer, precision)
                    elif backend == "xla":
                        result, losses = run_xla(args, name)
                    else:
                        result, losses = run_torch(args, backend, make(), batches,
                                                   optimizer, precision)
                if reference is None:
                    reference = losses
                result["loss"] = float(max(
                    abs(a - b) / abs(b) for a, b in zip(losses, reference)))
                result["losses"] = [losses[0], losses[-1]]
            except Exception as error:
                result = dict(error=f"{type(error).__name__}: {error}"[:1500])
            print(json.dumps(dict(row=name, backend=backend, **result)), flush=True)


if __name__ == "__main__":
    main()
