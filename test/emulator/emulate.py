#!/usr/bin/env python3
"""Compiles emitted CUDA text for the host, under the emulator.

Usage: emulate.py KERNELS.cu -o kernels.so [--cxx=g++] [--headers=FOLDER]

For every kernel `extern "C" __global__ void name(T *p0, ...)` the library has

    void emu_name(void *const *args, const unsigned grid[3],
                  const unsigned block[3], unsigned sharedBytes);

which runs it; emu_failures() counts the launches' faults (a deadlock, say),
whose messages go to the standard error, and emu_set_seed(seed) chooses the
order in which threads run.

Most of the time goes into the skeletons' headers: with --headers they are
compiled once, into FOLDER, for all calls that name it.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = HERE.parent.parent / "codegen" / "cuda" / "device"
KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+'
                    r"(?:__\w+__\s*\([^)]*\)\s*)*(\w+)\s*\(")
FLAGS = ["-std=c++20", "-O1", "-shared", "-fPIC", "-w", "-DFRIT_EMULATE",
         "-fno-strict-aliasing", "-fvisibility=hidden"]

PRELUDE = """
#define EMU_API extern "C" __attribute__((visibility("default")))
EMU_API int emu_failures() { return emu::machine.failures; }
EMU_API void emu_set_seed(unsigned long seed) { emu::setSeed(seed); }
"""
ENTRY = """
EMU_API void emu_%(name)s(void *const *args, const unsigned grid[3],
                          const unsigned block[3], unsigned sharedBytes) {
  emu::launchPointers(%(name)s, args, grid, block, sharedBytes);
}
"""


def precompile(folder, cxx):
    """All of the skeletons' headers as one precompiled `skeletons.h`."""
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / "skeletons.h"
    ready = folder / "skeletons.h.gch"
    sources = [*DEVICE.glob("*.cuh"), *HERE.glob("*.h")]
    newest = max(source.stat().st_mtime for source in sources)
    if ready.exists() and ready.stat().st_mtime > newest:
        return
    header.write_text("".join(f'#include "{DEVICE / source.name}"\n'
                              for source in sorted(DEVICE.glob("*.cuh"))))
    # Calls at the same time must not see a part of it.
    with tempfile.TemporaryDirectory(dir=folder) as part:
        made = pathlib.Path(part) / ready.name
        subprocess.run([cxx, *FLAGS, *includes(part), "-x", "c++-header",
                        str(header), "-o", str(made)], check=True)
        made.rename(ready)


def includes(folder):
    """Flags by which the headers are found as frit/X.cuh."""
    link = pathlib.Path(folder) / "frit"
    if not link.exists():
        link.symlink_to(DEVICE)
    return [f"-I{folder}", f"-I{HERE}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", type=pathlib.Path)
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--cxx", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--headers", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    names = sorted(set(KERNEL.findall(args.kernels.read_text())))
    with tempfile.TemporaryDirectory() as folder:
        first = '#include "frit/base.cuh"\n'
        if args.headers:
            precompile(args.headers, args.cxx)
            first = f'#include "{args.headers.resolve() / "skeletons.h"}"\n'
        unit = pathlib.Path(folder) / "unit.cpp"
        unit.write_text(first + f'#include "{args.kernels.resolve()}"\n' +
                        PRELUDE +
                        "".join(ENTRY % {"name": name} for name in names))
        command = [args.cxx, *FLAGS, *includes(folder), str(unit), "-o",
                   args.output]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
