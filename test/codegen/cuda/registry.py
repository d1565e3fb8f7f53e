"""Checks that every skeleton and library call of the registry is tested.

Usage: registry.py SOURCE

The registry is the attributes of the cuda dialect. A test of this folder must
find that of a skeleton for a fusion, and one must state it; a test of
test/compiler/planning must state that of a library call. All device code must
be in a check of test/codegen/skeletons, which runs it on the emulator and on a
GPU: a .cu file whose first line says what it checks.
"""
import pathlib
import re
import sys

ATTRIBUTE = re.compile(r'^def Cuda_\w+Attr\s*: \w+<"\w+",\s*"(\w+)"', re.M)
CHECK = re.compile(r"//===- \w+\.cu - Checks ")
INCLUDE = re.compile(r'#include "frit/(\w+)\.cuh"')


def main():
    source = pathlib.Path(sys.argv[1])
    rooms = source / "codegen" / "cuda"
    tests = source / "test"
    names, missing = [], []
    for file in sorted(rooms.glob("*/*.td")):
        calls = file.parent.name == "library"
        folder = tests / ("compiler/planning" if calls else "codegen/cuda")
        uses = [r"schedule\("] if calls else [r"schedule\(", "(CHECK|KEPT).*"]
        texts = "".join(test.read_text() for test in folder.glob("*.mlir"))
        for name in ATTRIBUTE.findall(file.read_text()):
            names.append(name)
            for use in uses:
                if not re.search(rf"{use}#cuda\.{name}\b", texts):
                    missing.append(f"no test of {folder} has {use}#cuda.{name}")
    print("\n".join(missing))
    headers = {file.stem: INCLUDE.findall(file.read_text())
               for file in rooms.glob("*/*.cuh")}
    checked = set()
    for file in (tests / "codegen" / "skeletons").glob("*"):
        text = file.read_text() if file.suffix in {".cu", ".h"} else ""
        if file.suffix == ".h" or CHECK.match(text):
            checked.update(INCLUDE.findall(text))
    while more := {name for header in checked
                   for name in headers.get(header, ())} - checked:
        checked |= more
    unchecked = sorted(headers.keys() - checked)
    for header in unchecked:
        print(f"no check in test/codegen/skeletons includes frit/{header}.cuh")
    print(f"{len(names)} schedules, {len(headers)} headers")
    return bool(missing or unchecked or len(names) < 25)


if __name__ == "__main__":
    sys.exit(main())
