#!/usr/bin/env python3
"""Times 8-bit models beside frit's own 16 bits, on one GPU.

    int8.py --bundle DIR [--only 'resnet50/qdq/b32'] [--work DIR]

PyTorch exports ResNet-50 and BERT-Large, onnxruntime.quantization quantizes
them, with scales from random inputs (calibrated on the CPU), and fritc compiles
both: the model in fp16, and the quantized one with what is not quantized in
fp16. The two are timed alternately. The rows fp8 and fp8-rows are fritc's own
-fquantize=fp8 of the exported model, of ViT-B/16, BERT-Large and a Llama of 1 B
parameters (2 prompts of 1024 tokens): fp8 with scales of one random input,
which the CPU measures for a minute or two, fp8-rows with scales that each call
finds. Errors are those against PyTorch's float32
results. `wide` counts products of quantized tensors that stayed wide, which
the compiler's log names. Each result is one JSON line; a table of them ends the
output. Needs torch, torchvision, onnx, onnxscript and onnxruntime, no network.
"""
import argparse
import json
import re
import shlex
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime import quantization

from bundle import Failure, Frit

sys.path.append(str(Path(__file__).parent.parent / "models"))
import zoo  # noqa: E402

# How the quantizer writes a model: static scales as pairs of QuantizeLinear and
# DequantizeLinear, or as operators on bytes, or scales found in each call.
FORMS = ("qdq", "qoperator", "dynamic")
ROWS = [("resnet50", batch, form) for batch in (1, 32, 128) for form in FORMS[:2]]
ROWS += [("bert-large", batch, form) for batch in (1, 32) for form in ("qdq", "dynamic")]
# The compiler's own: scales of data, or of rows in each call.
OWN = ("fp8", "fp8-rows")
ROWS += [(name, batch, form) for name, batch in (("vit-b16", 32), ("bert-large", 32),
                                                 ("bert-large", 1)) for form in OWN]
ROWS += [("llama-1b", 2, "fp8-rows")]
CALIBRATED = 2  # inputs that scales come from
ROUNDS = 3  # of both artifacts in turn
REMARK = "multiplies quantized tensors in a wider type"


class Inputs(quantization.CalibrationDataReader):
    def __init__(self, model: zoo.Model, batch: int):
        self.feeds: Iterator[dict] = iter(
            [{model.input: zoo.draw(model, batch, seed=10 + i).numpy()}
             for i in range(CALIBRATED)])

    def get_next(self) -> dict | None:
        return next(self.feeds, None)


def quantize(model: zoo.Model, source: Path, batch: int, form: str, path: Path) -> None:
    """Quantizes products with constant weights and, of convolutional networks,
    all that lies between them. Static quantization does not heed
    MatMulConstBOnly: it would quantize what attention multiplies, too."""
    convolves = model.input == "image"
    graph = onnx.load(source, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    chosen = {} if convolves else dict(
        op_types_to_quantize=["MatMul", "Gemm"],
        nodes_to_exclude=[node.name for node in graph.node
                          if node.op_type == "MatMul" and node.input[1] not in weights],
        extra_options=dict(MatMulConstBOnly=True))
    if form == "dynamic":
        quantization.quantize_dynamic(source, path, per_channel=True, **chosen)
        return
    quantization.quantize_static(
        source, path, Inputs(model, batch), per_channel=True,
        quant_format=(quantization.QuantFormat.QDQ if form == "qdq"
                      else quantization.QuantFormat.QOperator),
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8, **chosen)


class Bench:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.start = time.time()
        self.results: list[dict] = []
        args.work.mkdir(parents=True, exist_ok=True)
        for folder in filter(None, [args.profile]):
            folder.mkdir(parents=True, exist_ok=True)
        remarks = ["-Rpass-missed=quantization"]
        self.frit = Frit(args.bundle, args.march, args.fritc + remarks)
        self.modules: dict[str, torch.nn.Module] = {}

    def model(self, name: str) -> zoo.Model:
        return zoo.ZOO[name][self.args.size]

    def export(self, name: str, batch: int) -> Path:
        """The row's files, without suffix, as run.py makes them."""
        stem = self.args.work / f"{name}-{self.args.size}-int8-b{batch}"
        if not Path(f"{stem}.npz").exists():
            model = self.model(name)
            if name not in self.modules:
                self.modules = {name: zoo.make(model, self.args.device)}
            module = self.modules[name]
            zoo.export(model, module, "dynamo", Path(f"{stem}.onnx"), batch)
            zoo.reference(model, module, stem, batch)
        return stem

    def quantized(self, name: str, batch: int, form: str) -> Path:
        """The quantized model. Its scales do not depend on the batch, but its
        shapes do, so a batch is calibrated by inputs of its own size."""
        stem = self.export(name, batch)
        path = Path(f"{stem}.{form}.onnx")
        if not path.exists():
            partial = path.with_suffix(".part")
            quantize(self.model(name), Path(f"{stem}.onnx"), batch, form, partial)
            partial.rename(path)
        return path

    def scales(self, name: str) -> Path:
        """The table of scales of a model's products, which inputs of any batch
        have; measured with one input."""
        table = self.args.work / f"{name}-{self.args.size}.scales.txt"
        if not table.exists():
            stem, model = self.export(name, 1), self.model(name)
            data = table.with_suffix(".npz")
            np.savez(data, **{model.input: zoo.draw(model, 1, seed=10).numpy()})
            partial = table.with_suffix(".part")
            self.frit.call("fritc", f"{stem}.onnx", "--emit=fused", "-o", "/dev/null",
                           f"-march={self.args.march}", "-fquantize=fp8",
                           f"--calibrate={data}", f"--scales={partial}", timeout=540)
            partial.rename(table)
        return table

    def given(self, name: str, batch: int) -> tuple[str, list[str]]:
        """The input as frit-run is given it, and flags for fritc."""
        model, stem = self.model(name), self.export(name, batch)
        types = [f"-ftype={model.output}:f16"]
        file = Path(f"{stem}.{model.input}.npy")
        values = np.load(file)
        if values.dtype == np.float32:
            types.append(f"-ftype={model.input}:f16")
            file = file.with_suffix(".f16.npy")
            np.save(file, values.astype(np.float16))
        return f"--input={model.input}=@{file}", types

    def artifact(self, source: Path, row: str, name: str, batch: int,
                 form: str) -> tuple[Path, dict]:
        given, types = self.given(name, batch)
        if form in OWN:
            types = [*types, "-fquantize=fp8"]
        if form == "fp8":
            types += [f"--scales={self.scales(name)}"]
        path = self.args.work / f"{row.replace('/', '-')}.so"
        result = self.frit.compile(source, "fp16", types, path)
        log = path.with_suffix(".compile.log").read_text()
        result |= dict(wide=log.count(REMARK)) | self.frit.info(path)
        result |= self.frit.check(path, given, Path(f"{self.export(name, batch)}.npz"))
        if self.args.profile:
            text = self.frit.profile(path, given)
            (self.args.profile / f"{path.stem}.profile.txt").write_text(text)
        return path, result

    def time_in_turn(self, paths: list[Path], given: str) -> list[dict]:
        times: list[list[float]] = [[] for _ in paths]
        for _ in range(ROUNDS):
            for of, path in zip(times, paths):
                of.append(self.frit.bench(path, given)["ms"])
        return [dict(ms=statistics.median(of), least=min(of), most=max(of)) for of in times]

    def row(self, name: str, batch: int, forms: list[str]) -> None:
        sources = {"fp16": Path(f"{self.export(name, batch)}.onnx")}
        sources |= {form: sources["fp16"] if form in OWN else self.quantized(name, batch, form)
                    for form in forms}
        made: dict[str, tuple[Path, dict]] = {}
        for kind, source in sources.items():
            row = f"{name}/{kind}/b{batch}"
            try:
                made[kind] = self.artifact(source, row, name, batch, kind)
            except Failure as failure:
                self.report(row=row, failed=str(failure)[:600])
        if not self.args.check_only:
            given, _ = self.given(name, batch)
            timed = self.time_in_turn([path for path, _ in made.values()], given)
            for (_, result), times in zip(made.values(), timed):
                result |= times
        for kind, (path, result) in made.items():
            if "ms" in result and "fp16" in made:
                result["speedup"] = round(made["fp16"][1]["ms"] / result["ms"], 3)
            self.report(row=f"{name}/{kind}/b{batch}", **result)
            path.unlink()

    def report(self, **result) -> None:
        self.results.append(result)
        print(json.dumps(result), flush=True)

    def run(self) -> None:
        wanted = [row for row in ROWS
                  if re.search(self.args.only, f"{row[0]}/{row[2]}/b{row[1]}")]
        for name, batch in dict.fromkeys(row[:2] for row in wanted):
            if time.time() - self.start > self.args.budget:
                self.report(row=f"{name}/b{batch}", failed="out of budget")
                continue
            self.row(name, batch, [row[2] for row in wanted if row[:2] == (name, batch)])


def lines(results: list[dict]) -> Iterator[str]:
    columns = ("row", "ms", "speedup", "error", "wide", "kernels", "compile_s")
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for result in results:
        cells = [result.get(column, result.get("failed", "")[:40] if column == "ms" else "")
                 for column in columns]
        yield "| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell)
                                for cell in cells) + " |"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--bundle", type=Path, required=True, metavar="DIR",
        help="the unpacked portable bundle: bin/fritc, bin/frit-run")
    add("--only", default="", metavar="REGEX", help="rows to run, such as resnet50/qdq/b1$")
    add("--march", help="the target; this GPU's if there is one")
    add("--fritc", default=[], type=shlex.split, metavar="FLAGS",
        help="more flags for the compiler")
    add("--budget", type=float, default=540, metavar="SECONDS",
        help="start no row after this long")
    add("--check-only", action="store_true", help="compare, time nothing")
    add("--profile", type=Path, metavar="DIR",
        help="leave what frit-run says of each step there, ROW.profile.txt")
    add("--size", choices=("full", "tiny"), default="full")
    add("--work", type=Path, default=Path("/tmp/frit-int8"), metavar="DIR",
        help="where models are kept from one run to the next")
    args = parser.parse_args()
    args.device = "cuda" if torch.cuda.is_available() else "cpu"
    if not args.march:
        if args.device == "cpu":
            parser.error("without a GPU, --march says what to compile for")
        major, minor = torch.cuda.get_device_capability()
        args.march = f"sm_{major}{minor}{'a' * (major >= 9)}"
    return args


def main() -> int:
    bench = Bench(parse())
    print(json.dumps(dict(frit=bench.frit.version(), march=bench.args.march,
                          torch=torch.__version__, command=shlex.join(sys.argv))), flush=True)
    bench.run()
    print("\n".join(lines(bench.results)))
    return any("failed" in result for result in bench.results)


if __name__ == "__main__":
    sys.exit(main())
