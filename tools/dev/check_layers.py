#!/usr/bin/env python3
"""Checks that includes follow the order of the layers.

    check_layers.py [ROOT]

LAYERS lists what the files of a folder may include. The innermost listed folder
of a file counts; files outside of all listed folders may include anything.

X.h and X.cpp are one unit. No unit may include itself through others.
"""
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tree import files

MLIR = ["mlir/", "llvm/", "llvm-c/"]
ROLES = ["frit/role_names.h", "frit/roles.h"]
ARTIFACT = [*ROLES, "frit/activation.h", "frit/artifact.h", "frit/artifact_library.h",
            "frit/artifact_strings.h", "frit/artifact_types.h", "frit/collectives.h", "frit/dtype.h", "frit/host_arch.h",
            "frit/image.h", "frit/plan_tables.h", "frit/printable.h", "frit/safetensors.h", "frit/signature.h",
            "frit/step_kinds.h", "frit/tensor_cores.h", "frit/units.h"]
COMPILER = ["compiler/", "dialects/", *MLIR]
RUNTIME = ["runtime/", "frit/", "nlohmann/"]
SCALAR = ["codegen/cuda/device/", "codegen/cuda/scalar/", "dialects/",
          *ARTIFACT, *MLIR]
SKELETON = ["codegen/cuda/memory/", "codegen/cuda/reduction/", "codegen/cuda/epilogue/",
            "codegen/cuda/contraction/", "codegen/cuda/integer/", "codegen/cuda/attention/",
            "codegen/cuda/target/", *SCALAR]
LIBRARY = ["codegen/cuda/library/", *SKELETON]

LAYERS = {
    "dialects/nn": ["dialects/nn/", "frit/activation.h", *ROLES, *MLIR],
    "dialects/plan": ["dialects/", *ARTIFACT, *MLIR],
    # The runtime decides where to search for NVIDIA's libraries.
    "codegen": ["codegen/", "dialects/", "runtime/cuda/library/Library.h", *ARTIFACT, *MLIR],
    "codegen/cuda/scalar": SCALAR,
    "codegen/cuda/epilogue": ["codegen/cuda/epilogue/", "codegen/cuda/target/Problem.h",
                              *SCALAR],
    "codegen/cuda/memory": SKELETON,
    "codegen/cuda/reduction": SKELETON,
    "codegen/cuda/contraction": SKELETON,
    "codegen/cuda/integer": SKELETON,
    "codegen/cuda/attention": SKELETON,
    "codegen/cuda/library": LIBRARY,
    "codegen/cuda/custom": ["codegen/cuda/custom/", *SKELETON],
    "*.cuh": ["frit/"],
    "compiler": COMPILER,
    "compiler/import": ["compiler/import/", "dialects/nn/", *MLIR],
    "compiler/json": ["compiler/json/", "compiler/import/",
                      "compiler/onnx/reader/", "dialects/nn/", "nlohmann/", "frit/dtype.h",
                      # One reader for all of frit; nothing else of the runtime.
                      "runtime/exec/Safetensors.h", *MLIR],
    "compiler/decoder": ["compiler/decoder/", "compiler/json/", "compiler/import/",
                         "compiler/support/Halves.h", "dialects/nn/", "nlohmann/", *ROLES, *MLIR],
    "compiler/gguf": ["compiler/gguf/", "compiler/decoder/", "compiler/import/",
                      "compiler/support/Gguf.h", "compiler/support/Halves.h", "dialects/nn/",
                      *MLIR],
    "compiler/onnx": ["compiler/onnx/", "compiler/import/", "dialects/nn/",
                      "compiler/support/Npy.h", "compiler/support/Varint.h",
                      "onnx/", "google/protobuf/", "frit/dtype.h", "frit/artifact_strings.h",
                      *MLIR],
    "compiler/transform": ["compiler/transform/", "compiler/support/Halves.h", "dialects/nn/",
                           *ROLES, *MLIR],
    "compiler/training": ["compiler/training/", "compiler/transform/", "dialects/nn/", *ROLES, *MLIR],
    "compiler/padding": ["compiler/padding/", "compiler/transform/",
                         "dialects/nn/", "dialects/plan/OpenShapes.h", *MLIR],
    "compiler/planning": ["compiler/planning/", "dialects/", *ARTIFACT, *MLIR],
    "compiler/pipeline": ["compiler/pipeline/", "compiler/import/", "compiler/decoder/",
                          "compiler/gguf/",
                          "compiler/padding/", "compiler/training/", "compiler/transform/",
                          "compiler/planning/", "codegen/", "dialects/",
                          "frit/units.h", *ROLES, *MLIR],
    "compiler/report": ["compiler/report/", "dialects/", "frit/host_arch.h", "frit/printable.h",
                        *MLIR],
    "compiler/driver": [*COMPILER, "codegen/", *ARTIFACT],
    # Programs without a compiler have it too.
    "compiler/support": ["compiler/support/", "frit/dtype.h", "frit/printable.h"],
    "runtime": RUNTIME,
    # The meaning of a plan does not depend on how it runs.
    "runtime/plan": ["runtime/plan/", "runtime/exec/Status.h", "runtime/exec/Types.h",
                     "frit/"],
    "runtime/include": ["frit/"],
}
# Building must need no CUDA toolkit, so no file may include its headers.
TOOLKIT = re.compile(r"(cuda|cublas|cudnn|nccl|nvrtc)\w*\.h$")

SOURCES = {".c", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def layer(file: Path) -> str | None:
    """The folder of LAYERS that `file` lies in most closely; device code has a
    layer of its own."""
    if file.suffix == ".cuh":
        return "*.cuh"
    return next((folder for folder in map(str, file.parents)
                 if folder in LAYERS), None)


def line_of(include: re.Match) -> int:
    return include.string.count("\n", 0, include.start(1)) + 1


def broken_layers(sources: dict[Path, str]) -> Iterator[str]:
    for file, text in sources.items():
        folder = layer(file)
        if folder is None:
            continue
        place = folder if folder.startswith("*") else f"{folder}/"
        for include in INCLUDE.finditer(text):
            name = include[1]
            # A plain name is the C or C++ library's, or a neighbour's.
            allowed = (not TOOLKIT.match(name) if "/" not in name
                       else name.startswith(("sys/", *LAYERS[folder])))
            if not allowed:
                yield f"{file}:{line_of(include)}: {place} may not include {name}"


def unit(file: Path) -> str:
    return str(file if file.suffix == ".cuh" else file.with_suffix(""))


def cycles(sources: dict[Path, str]) -> Iterator[str]:
    device = {f"frit/{file.name}": file for file in sources
              if file.suffix == ".cuh"}
    # Position of an include, by the including and the included unit.
    edges: dict[str, dict[str, str]] = {}
    for file, text in sources.items():
        for include in INCLUDE.finditer(text):
            name = include[1]
            included = next((found for found in (
                Path(name), file.parent / name, Path("runtime/include") / name,
                device.get(name)) if found in sources), None)
            if included and unit(included) != unit(file):
                edges.setdefault(unit(file), {}).setdefault(
                    unit(included), f"{file}:{line_of(include)}")
    while True:
        try:
            TopologicalSorter(edges).prepare()
            return
        except CycleError as error:
            # From the included to the including units, the first one twice.
            cycle = error.args[1][:0:-1]
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start + 1]
        place = edges[cycle[0]].pop(cycle[1])
        yield f"{place}: include cycle: {' -> '.join(cycle)}"


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    sources = {file: (root / file).read_text() for file in files(root)
               if file.suffix in SOURCES}
    found = [*broken_layers(sources), *cycles(sources)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(len(found) > 0)


if __name__ == "__main__":
    main()
