#!/usr/bin/env python3
"""Checks that includes follow the order of the layers.

    check_layers.py [ROOT]

LAYERS lists what the files of a folder may include. The innermost listed folder
of a file counts; files outside of all listed folders may include anything.
"""
import re
import sys
from pathlib import Path

from tree import files

MLIR = ["mlir/", "llvm/", "llvm-c/"]
ARTIFACT = ["frit/activation.h", "frit/artifact.h", "frit/dtype.h", "frit/image.h",
            "frit/printable.h"]
COMPILER = ["compiler/", "dialects/", *MLIR]
RUNTIME = ["runtime/", "frit/", "nlohmann/"]

LAYERS = {
    "dialects/nn": ["dialects/nn/", "frit/activation.h", *MLIR],
    "dialects/plan": ["dialects/", "frit/activation.h", *MLIR],
    "codegen": ["codegen/", "dialects/", *ARTIFACT, *MLIR],
    "*.cuh": ["frit/"],
    "compiler": COMPILER,
    "compiler/import": ["compiler/import/", "dialects/nn/", *MLIR],
    "compiler/json": ["compiler/json/", "compiler/import/",
                      "compiler/onnx/reader/", "dialects/nn/", "nlohmann/", "frit/dtype.h", *MLIR],
    "compiler/onnx": ["compiler/onnx/", "compiler/import/", "dialects/nn/",
                      "onnx/", "google/protobuf/", "frit/dtype.h", *MLIR],
    "compiler/transform": ["compiler/transform/", "dialects/nn/", *MLIR],
    "compiler/padding": ["compiler/padding/", "compiler/transform/",
                         "dialects/nn/", "dialects/plan/OpenShapes.h", *MLIR],
    "compiler/planning": ["compiler/planning/", "dialects/", *ARTIFACT, *MLIR],
    "compiler/pipeline": ["compiler/pipeline/", "compiler/import/",
                          "compiler/padding/", "compiler/transform/",
                          "compiler/planning/", "codegen/", "dialects/",
                          *MLIR],
    "compiler/driver": [*COMPILER, "codegen/", *ARTIFACT],
    "runtime": RUNTIME,
    "runtime/include": ["frit/"],
}
# Building must need no CUDA toolkit, so no file may include its headers.
TOOLKIT = re.compile(r"(cuda|cublas|cudnn|nccl|nvrtc)\w*\.h$")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def layer(file: Path) -> str | None:
    """The folder of LAYERS that `file` lies in most closely; device code has a
    layer of its own."""
    if file.suffix == ".cuh":
        return "*.cuh"
    return next((folder for folder in map(str, file.parents)
                 if folder in LAYERS), None)


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    broken = 0
    for file in files(root):
        folder = layer(file)
        if folder is None or file.suffix not in {
                ".c", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"}:
            continue
        place = folder if folder.startswith("*") else f"{folder}/"
        text = (root / file).read_text()
        for include in INCLUDE.finditer(text):
            name = include[1]
            # A name without a folder is the C or C++ library's, or in the same folder.
            allowed = (not TOOLKIT.match(name) if "/" not in name
                       else name.startswith(("sys/", *LAYERS[folder])))
            if not allowed:
                line = text.count("\n", 0, include.start(1)) + 1
                print(f"{file}:{line}: {place} may not include {name}")
                broken += 1
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
