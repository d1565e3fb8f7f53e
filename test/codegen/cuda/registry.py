"""Checks that every skeleton of the registry is tested.

Usage: registry.py SOURCE

The registry is the attributes of the cuda dialect. Each must be the schedule of
a kernel in a test of this folder, and all device code must be in a check of
test/codegen/skeletons, which runs it on the emulator and on a GPU.
"""
import pathlib
import re
import sys

ATTRIBUTE = re.compile(r'^def Cuda_\w+Attr\s*: \w+<"\w+",\s*"(\w+)">', re.M)
INCLUDE = re.compile(r'#include "frit/(\w+)\.cuh"')


def main():
    source = pathlib.Path(sys.argv[1])
    rooms = source / "codegen" / "cuda"
    names = [name for file in sorted(rooms.glob("*/*.td"))
             for name in ATTRIBUTE.findall(file.read_text())]
    texts = "".join(file.read_text() for file in
                    (source / "test" / "codegen" / "cuda").glob("*.mlir"))
    missing = [name for name in names
               if not re.search(rf"(CHECK|KEPT).*#cuda\.{name}<", texts)]
    for name in missing:
        print(f"no test of test/codegen/cuda expects #cuda.{name}")
    headers = {file.stem: INCLUDE.findall(file.read_text())
               for file in rooms.glob("*/*.cuh")}
    checked = set()
    for file in (source / "test" / "codegen" / "skeletons").glob("*"):
        if file.suffix in {".cu", ".h"}:
            checked.update(INCLUDE.findall(file.read_text()))
    while more := {name for header in checked
                   for name in headers.get(header, ())} - checked:
        checked |= more
    unchecked = sorted(headers.keys() - checked)
    for header in unchecked:
        print(f"no check in test/codegen/skeletons includes frit/{header}.cuh")
    print(f"{len(names)} skeletons, {len(headers)} headers")
    return bool(missing or unchecked or len(names) < 20)


if __name__ == "__main__":
    sys.exit(main())
