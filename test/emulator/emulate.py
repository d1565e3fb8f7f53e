#!/usr/bin/env python3
"""Compiles emitted CUDA text for the host, under the emulator.

Usage: emulate.py KERNELS.cu -o kernels.so [--cxx=g++]

For every kernel `extern "C" __global__ void name(T *p0, ...)` the library has

    void emu_name(void *const *args, const unsigned grid[3],
                  const unsigned block[3], unsigned sharedBytes);

which runs it; emu_failures() counts the launches' faults (a deadlock, say),
whose messages go to the standard error, and emu_set_seed(seed) chooses the
order in which threads run.
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", type=pathlib.Path)
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--cxx", default=os.environ.get("CXX", "g++"))
    args = parser.parse_args()
    names = sorted(set(KERNEL.findall(args.kernels.read_text())))
    if not names:
        print(f"{args.kernels}: no kernels", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        # The headers are included as frit/X.cuh.
        os.symlink(DEVICE, os.path.join(folder, "frit"))
        unit = pathlib.Path(folder) / "unit.cpp"
        unit.write_text(f'#include "{args.kernels.resolve()}"\n' + PRELUDE +
                        "".join(ENTRY % {"name": name} for name in names))
        command = [args.cxx, *FLAGS, f"-I{folder}", f"-I{HERE}", str(unit),
                   "-o", args.output]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
