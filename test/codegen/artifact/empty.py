"""Compiles, links and runs every model of a folder, and shows its outputs.

    empty.py FOLDER

As a shared library with embedded and with external weights, and as an object
linked into a shared library.
"""
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1])


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}"
                 f"{done.stderr}")
    return done.stdout


for model in sorted(FOLDER.glob("*.onnx")):
    stem = FOLDER / model.stem
    run("fritc", "-march=x86-64", model, "-o", f"{stem}.so")
    run("fritc", "-march=x86-64", model, "-o", f"{stem}-e.so",
        "-fexternal-weights")
    run("fritc", "-march=x86-64", model, "-c", "-o", f"{stem}.o")
    run("cc", "-shared", f"{stem}.o", "-lm",
        f"-Wl,--defsym=frit_model_image={model.stem}_image", "-o",
        f"{stem}-o.so")
    shown = [run("frit-run", f"{stem}{kind}.so", "--json")
             for kind in ("", "-e", "-o")]
    assert shown[1:] == shown[:-1], shown
    outputs = json.loads(shown[0])["outputs"]
    print(f"{model.stem}:", *(output["type"] for output in outputs))
