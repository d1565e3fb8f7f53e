#!/usr/bin/env python3
"""Times a call of Stable Diffusion 1's U-Net and of DiT-XL/2, on one GPU.

    denoise.py --bundle DIR [--only unet] [--backends frit,compile,graph]

Two samples a call (a sample with and without its condition), in fp16, with random
weights: latents of 64 x 64 and 77 tokens of text, or of 32 x 32 and a class.
PyTorch exports the module in fp16, as it is published. Errors are distances from
the same weights in float32. Each result is one JSON line.
"""
import argparse
import copy
import json
import sys
from pathlib import Path

import numpy as np
import torch

import peers
from bundle import Frit
from denoisers import Dit, TextUNet
from measure import measure, relative_error

sys.path.append(str(Path(__file__).parent.parent / "models"))
import zoo  # noqa: E402

BATCH = 2


def times():
    return torch.tensor([481, 481], dtype=torch.int64)


def unet_inputs():
    return dict(sample=torch.randn(BATCH, 4, 64, 64), timestep=times(),
                text=torch.randn(BATCH, 77, 768))


def dit_inputs():
    return dict(sample=torch.randn(BATCH, 4, 32, 32), timestep=times(),
                label=torch.tensor([207, 1000]))


ROWS = {"sd1-unet": (TextUNet, unet_inputs), "dit-xl-2": (Dit, dit_inputs)}


def half(inputs):
    return [x.half() if x.is_floating_point() else x for x in inputs]


class Row:
    def __init__(self, name: str, args: argparse.Namespace):
        self.name, self.args = name, args
        self.stem = args.work / name
        build, draw = ROWS[name]
        torch.manual_seed(0)
        with torch.device(args.device):
            self.module = build().eval()
        zoo.randomize(self.module, torch.Generator(args.device).manual_seed(0))
        self.inputs = draw()
        # Float32 of the weights and inputs that fp16 holds.
        for value in self.module.parameters():
            value.data = value.data.half().float()
        self.given = half(self.inputs.values())
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        if args.device == "cuda":
            self.expected = self.module(*[x.float() if x.is_floating_point() else x
                                          for x in self.on_device()]).cpu().numpy()
        self.module = self.module.half()

    def on_device(self):
        return [x.to(self.args.device) for x in self.given]

    def frit(self) -> dict:
        onnx, artifact = self.stem.with_suffix(".onnx"), self.stem.with_suffix(".so")
        with torch.enable_grad():  # without it attention takes a path that is not exported
            torch.onnx.export(self.module, tuple(self.on_device()), onnx, verbose=False,
                              dynamo=self.args.exporter == "dynamo", external_data=True,
                              input_names=list(self.inputs), output_names=["noise"])
        flags = []
        for name, value in zip(self.inputs, self.given):
            file = f"{self.stem}.{name}.npy"
            np.save(file, value.numpy())
            flags.append(f"--input={name}=@{file}")
        frit = Frit(self.args.bundle, self.args.march, self.args.fritc.split())
        result = frit.compile(onnx, "fp16", [], artifact) | frit.info(artifact)
        if self.args.device == "cuda":
            written = self.stem.with_suffix(".out.npz")
            frit.call("frit-run", str(artifact), *flags, f"--output=@{written}")
            with np.load(written) as out:
                result |= dict(error=relative_error(out["noise"], self.expected))
            done, _ = frit.call("frit-run", str(artifact), *flags, "--bench",
                                "--no-transfers", "--json")
            said = json.loads(done.stdout)
            result |= {key: round(said[key], 4) for key in ("ms", "p10", "p90", "runs")}
            if self.args.profile:
                done, _ = frit.call("frit-run", str(artifact), *flags, "--profile")
                (self.args.profile / f"{self.name}.profile.txt").write_text(done.stdout)
        return result

    def peer(self, backend: str) -> dict:
        torch._dynamo.reset()
        torch.backends.cudnn.benchmark = True
        module = copy.deepcopy(self.module).to(memory_format=torch.channels_last)
        mode = peers.BACKENDS[backend]
        f = torch.compile(module, mode=mode, dynamic=False) if mode else module
        inputs = self.on_device()
        error = relative_error(f(*inputs).float().cpu().numpy(), self.expected)
        return dict(error=error) | measure(lambda i: f(*inputs))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--bundle", type=Path, required=True, metavar="DIR",
        help="the unpacked portable bundle: bin/fritc, bin/frit-run")
    add("--only", default="", help="part of a row's name")
    add("--backends", default="frit,graph", help=f"frit, {', '.join(peers.BACKENDS)}")
    add("--march", default="sm_90a")
    add("--fritc", default="", help="more flags for fritc")
    add("--exporter", choices=zoo.EXPORTERS, default=zoo.EXPORTERS[0])
    add("--device", default="cuda", help="cpu: exports and compiles only")
    add("--profile", type=Path, metavar="DIR")
    add("--work", type=Path, default=Path("/tmp/frit-denoise"), metavar="DIR")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        for name in filter(lambda name: args.only in name, ROWS):
            row = Row(name, args)
            for backend in args.backends.split(","):
                try:
                    result = row.frit() if backend == "frit" else row.peer(backend)
                except Exception as failure:  # the other rows go on
                    result = dict(failed=f"{type(failure).__name__}: {failure}"[:600])
                print(json.dumps(dict(row=f"{name}/fp16/b{BATCH}", backend=backend, **result)),
                      flush=True)


if __name__ == "__main__":
    main()
