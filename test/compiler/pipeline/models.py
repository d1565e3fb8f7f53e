"""Compiles and runs small versions of real models; compares with PyTorch's outputs.

    models.py FOLDER WORK [--precision P] [--only REGEX] [--march ARCH]
              [--device cpu|cuda] [--fritc FLAGS]

FOLDER is test/models/tiny: NAME-EXPORTER[-VARIANT].onnx, their input
NAME.INPUT.npy and PyTorch's float32 output NAME.npz. The limits are on
||out - ref|| / ||ref||.
"""
import argparse
import pathlib
import re
import subprocess
import sys

LIMITS = {"fp32": 1e-4, "tf32": 1e-4, "fp16": 1e-2, "bf16": 3e-2}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--precision", default="fp32", choices=LIMITS)
    parser.add_argument("--only", default=".")
    parser.add_argument("--march", default="x86-64-v3")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fritc", default=[], type=str.split, metavar="FLAGS")
    options = parser.parse_args()

    options.work.mkdir(parents=True, exist_ok=True)
    library = options.work / "model.so"
    failed = ran = 0
    for model in sorted(options.folder.glob("*.onnx")):
        if not re.search(options.only, model.stem):
            continue
        name = re.split("-(?:dynamo|torchscript)", model.stem)[0]
        (inputs,) = options.folder.glob(f"{name}.*.npy")
        compile_ = ["fritc", str(model), f"-march={options.march}", "-o",
                    str(library), f"-fprecision={options.precision}",
                    *options.fritc]
        if "dynamic" in model.stem:
            compile_.append("-fshape=batch=2")
        run = ["frit-run", str(library), f"--device={options.device}",
               f"--input={inputs.suffixes[0][1:]}=@{inputs}",
               f"--compare={options.folder / name}.npz",
               f"--l2={LIMITS[options.precision]}"]
        ran += 1
        for command in (compile_, run):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{model.stem}: {' '.join(command)}\n{done.stdout}"
                      f"{done.stderr}")
                failed += 1
                break
    print(f"{options.precision}: {ran - failed} of {ran} models agree")
    sys.exit(failed > 0 or ran == 0)


main()
