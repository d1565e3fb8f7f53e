"""Tests which models may run on padded inputs.

    padding.py WORK

Each is compiled for two sizes of `batch`; if those between cannot be padded,
-Rpass-missed=shape says so. Models that need masks also run with other sizes. That
the others compute the right results on padded inputs is for
test/compiler/pipeline/variants.py to show.
"""
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnx.parser
import onnxruntime

from masked_models import MASKED, PADDED
from picked_models import EXACT, PICKS, POSITIONS, STRIDES

HEADER = '<ir_version: 8, opset_import: ["": 21]>\n'


def is_padded(name, text, work, sizes="2,8", served="1..8"):
    path = work / f"{name}.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    done = subprocess.run(
        ["fritc", path, "-march=x86-64", f"-fshape=batch={sizes}",
         "-Rpass-missed=shape", "-o", work / f"{name}.so"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    said = subprocess.run(
        ["frit-run", work / f"{name}.so", "--info", "--device=none"],
        capture_output=True, text=True, check=True).stdout
    padded = served in said
    if not padded:
        assert "[-Rpass-missed=shape]" in done.stderr, name
    return padded


def agrees(name, work, sizes=(1, 3, 5, 7, 8)):
    """Returns whether all sizes give ONNX Runtime's results."""
    session = onnxruntime.InferenceSession(work / f"{name}.onnx")
    generator = numpy.random.default_rng(5)
    agreed = True
    for batch in sizes:
        inputs = {}
        for value in session.get_inputs():
            shape = [n if isinstance(n, int) else batch for n in value.shape]
            inputs[value.name] = (
                generator.integers(-batch, batch, shape) if "int64" in value.type else
                generator.standard_normal(shape).astype(numpy.float32))
        names = [value.name for value in session.get_outputs()]
        numpy.savez(work / "in.npz", **inputs)
        numpy.savez(work / "out.npz", **{
            name: numpy.array(value, order="C") for name, value in
            zip(names, session.run(None, inputs))})
        done = subprocess.run(
            ["frit-run", work / f"{name}.so", f"--input=@{work / 'in.npz'}",
             f"--compare={work / 'out.npz'}"], capture_output=True, text=True)
        if done.returncode:
            print(name, batch, done.stdout, done.stderr)
            agreed = False
    return agreed


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    wrong = [name
             for models, expected in ((PADDED, True), (MASKED, True),
                                      (POSITIONS, True), (PICKS, True), (EXACT, False))
             for name, text in models
             if is_padded(name, text, work) != expected]
    wrong += [name for name, text in MASKED + POSITIONS + PICKS if not agrees(name, work)]
    for name, text in STRIDES:
        if not (is_padded(name, text, work, "300..1500", "300..1500") and
                agrees(name, work, (300, 319, 320, 321, 479, 480, 549, 550, 551,
                                    1023, 1024, 1025, 1499, 1500))):
            wrong.append(name)
    padded = len(PADDED) + len(POSITIONS) + len(PICKS) + len(STRIDES)
    print(f"{padded} padded, {len(MASKED)} masked, {len(EXACT)} exact:",
          f"wrong: {wrong}" if wrong else "all as expected")
    sys.exit(len(wrong) > 0)


main()
