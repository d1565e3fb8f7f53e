#!/usr/bin/env python3
"""What rounding the weights of a language model costs, as perplexity of a text:

    perplexity.py MODEL.gguf TEXT [--data TEXT] [--context N] [ROW...]

All rows begin with the file's numbers in f32, as the package `gguf` dequantises them. A row is
an option of fritc without its dash (fweights=int4:64, fprecision=bf16), with `+data` rounded
by the tokens of --data; or a type of GGUF (Q5_0), in which the matrices are written, and beside
it the f32 that the package says they stand for, which should be the same. The row `file` is
the file as it is. fritc, frit-run and frit-tokenize are on the PATH.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--context", type=int, default=512)
    return parser.parse_intermixed_args()


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, **options).stdout


def measure(options, model, work, *flags):
    """The perplexity of the text by the model as fritc compiles it."""
    artifact = work / "model.so"
    run("fritc", model, "-march=native", f"--context={options.context}",
        f"-fshape=chunk=1,{options.context}", *flags, "-o", artifact)
    return json.loads(run("frit-run", artifact, f"--tokenizer={options.model}",
                          f"--prompt=@{options.text}", "--perplexity", "--json"))


def as_numbers(values):
    from gguf import GGMLQuantizationType
    return values, GGMLQuantizationType.F32


def write_as(source, path, encode):
    """Copies a GGUF file with other matrices: `encode` returns numbers and their type."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants
    reader = GGUFReader(source)
    writer = GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        kind, inner = field.types[0], field.types[-1]
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        writer.add_key_value(name, field.contents(), kind,
                             inner if kind == GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        values = quants.dequantize(tensor.data, tensor.tensor_type)
        values = values.reshape([int(size) for size in reversed(tensor.shape)])
        data, kind = (as_numbers if values.ndim == 1 else encode)(values)
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def measure_type(options, name, work):
    """The perplexities of the matrices in a type, and of the numbers they stand for."""
    from gguf import GGMLQuantizationType, quants
    kind, path = GGMLQuantizationType[name], work / "typed.gguf"

    def numbers(values):
        plain = quants.dequantize(quants.quantize(values, kind), kind)
        return as_numbers(plain.astype(np.float32).reshape(values.shape))

    write_as(options.model, path, lambda values: (quants.quantize(values, kind), kind))
    codes = measure(options, path, work)
    write_as(options.model, path, numbers)
    return codes, measure(options, path, work)


def tokens_of(options, work):
    """The tokens of --data in calls of --context, as fritc reads them."""
    ids = np.array(run("frit-tokenize", options.model, text=True,
                       input=options.data.read_text().replace("\n", " ")).split(), np.int32)
    ids = ids[:len(ids) // options.context * options.context]
    path = work / "data.npy"
    np.save(path, ids.reshape(-1, options.context))
    return path


def main(options):
    print("| weights | perplexity | of f32 | dequantised |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        work, first, plain = Path(folder), None, Path(folder) / "plain.gguf"
        write_as(options.model, plain, as_numbers)
        for row in ["f32", *options.rows]:
            flags, beside = [], ""
            if row[0] == "f" and row not in ("f32", "file"):
                flags = [f"-{row.removesuffix('+data')}"]
                if row.endswith("+data"):
                    flags.append(f"--calibrate={tokens_of(options, work)}")
            if flags or row in ("f32", "file"):
                made = measure(options, options.model if row == "file" else plain, work, *flags)
            else:
                made, numbers = measure_type(options, row, work)
                beside = f"{numbers['perplexity']:.3f}"
            first = first or made
            print(f"| {row} | {made['perplexity']:.3f} | "
                  f"{made['perplexity'] / first['perplexity']:.3f} | {beside} |", flush=True)
        print(f"\n{first['tokens']} tokens in windows of {first['window']}")


if __name__ == "__main__":
    main(parse())
