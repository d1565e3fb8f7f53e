#!/usr/bin/env python3
"""Compiles emitted CUDA text for the host, under the emulator.

Usage: emulate.py KERNELS... -o kernels.so [--cxx=g++] [--level=0]
                  [--headers=FOLDER] [--arch=90]

KERNELS are files of CUDA text, or artifacts that fritc compiled with
FRIT_NVRTC=libemulated_nvrtc.so, which contain the text. For every kernel
`extern "C" __global__ void name(T *p0, ...)` of file N the library has

    void emuN_name(void *const *args, const unsigned grid[3],
                   const unsigned block[3], unsigned sharedBytes);

which runs it; args has the address of every pointer's memory and of every
tensor map (tensor_map.h). emu_failures() counts the launches' faults (a deadlock, say),
whose messages go to the standard error, and emu_set_seed(seed) chooses the
order in which threads run.

Most of the time goes into the skeletons' headers: with --headers, or the
variable FRIT_EMULATOR_HEADERS, they are compiled once, into FOLDER, for all calls
that name it and compile alike. What is left is shared by the files of one call. To
compile takes half as long with clang++ and --level=0 as with g++; kernels that run for
more than moments are worth --level=1.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNTIME = ROOT / "runtime" / "include"
HEADERS = sorted((ROOT / "codegen" / "cuda").glob("*/*.cuh"))
KERNEL = re.compile(r'extern\s+"C"\s+(__global__\s+void\s+'
                    r"((?:__\w+__\s*\([^)]*\)\s*)*)(\w+)\s*\()")
CLUSTER = re.compile(r"__cluster_dims__\((\d+), 1, 1\)")
# Dynamic shared memory of a user's kernel.
DYNAMIC = re.compile(r"extern\s+__shared__\s+(\w+)\s+(\w+)\s*\[\s*\]")
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
EMBEDDED = re.compile(rb"// emulated text (\w+)\n(.*?)// end of emulated text\n",
                      re.DOTALL)
FLAGS = ["-std=c++20", "-shared", "-fPIC", "-w", "-Wno-psabi",
         "-fno-strict-aliasing", "-fvisibility=hidden"]

PRELUDE = """
#define EMU_API extern "C" __attribute__((visibility("default")))
EMU_API int emu_failures() { return emu::machine.failures; }
EMU_API void emu_set_seed(unsigned long seed) { emu::setSeed(seed); }
"""
ENTRY = """
EMU_API void emu%(unit)d_%(name)s(void *const *args, const unsigned grid[3],
                                  const unsigned block[3],
                                  unsigned sharedBytes) {
  emu::launchPointers(unit%(unit)d::%(name)s, args, grid, block, sharedBytes,
                      %(cluster)s);
}
"""


def text_of(file):
    """The text of a .cu file, or what libemulated_nvrtc.so left in an artifact:
    the modules of the first CUDA target, of which there are none where it has
    no kernels."""
    data = file.read_bytes()
    if data.startswith(b"\x7fELF"):
        found = EMBEDDED.findall(data)
        data = b"".join(text for arch, text in found if arch == found[0][0])
    return data.decode()


def translation_unit(texts):
    """Joins the texts, each in a namespace of its own: kernels may have equal
    names."""
    parts = [include for text in texts for include in INCLUDE.findall(text)]
    parts = [*dict.fromkeys(parts), PRELUDE]
    for unit, text in enumerate(texts):
        clusters = {name: CLUSTER.search(attributes)
                    for _, attributes, name in KERNEL.findall(text)}
        text = KERNEL.sub(r"\1", INCLUDE.sub("", text))
        text = DYNAMIC.sub(r"auto *\2 = static_cast<\1 *>(emu::sharedMemory())",
                           text)
        parts.append(f"namespace unit{unit} {{\n{text}}}\n")
        parts += [ENTRY % {"unit": unit, "name": name,
                           "cluster": found.group(1) if found else 1}
                  for name, found in sorted(clusters.items())]
    return "".join(parts)


def alike(args):
    """A name that calls have in common if they can use one precompiled header."""
    program = pathlib.Path(shutil.which(args.cxx) or args.cxx).resolve()
    changed = program.stat().st_mtime_ns if program.exists() else 0
    return f"{program.parent.parent.name}-{program.name}-{changed}-O{args.level}-{args.arch}"


def precompile(folder, compiler):
    """Precompiles all headers of the skeletons as one."""
    header = folder / "skeletons.h"
    ready = folder / "skeletons.h.gch"
    sources = [*HEADERS, *HERE.glob("*.h"), *RUNTIME.rglob("*.h")]
    newest = max(source.stat().st_mtime for source in sources)
    if ready.exists() and ready.stat().st_mtime > newest:
        return header
    text = "".join(f'#include "{source}"\n' for source in HEADERS)
    if header.exists() and header.read_text() != text:
        header.unlink()
    # Concurrent calls must not see a partial file, or a header that is newer
    # than files made from it.
    with tempfile.TemporaryDirectory(dir=folder) as part:
        written = pathlib.Path(part) / header.name
        written.write_text(text)
        with contextlib.suppress(FileExistsError):
            os.link(written, header)
        made = pathlib.Path(part) / ready.name
        subprocess.run([*compiler, "-x", "c++-header", str(header), "-o",
                        str(made)], check=True)
        made.rename(ready)
    return header


def includes(folder):
    """Flags by which the headers are found as frit/X.cuh."""
    links = pathlib.Path(folder) / "frit"
    links.mkdir(exist_ok=True)
    for header in HEADERS:
        link = links / header.name
        if link.is_symlink() and link.readlink() == header:
            continue
        # An earlier call may have made it of a file that has moved since.
        made = links / f".{header.name}.{os.getpid()}"
        made.symlink_to(header)
        made.replace(link)
    return [f"-I{folder}", f"-I{HERE}", f"-I{RUNTIME}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", type=pathlib.Path, nargs="+")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--cxx", default=os.environ.get("CXX") or "clang++-22")
    parser.add_argument("--level", default="0", help="of optimisation")
    parser.add_argument("--arch", default="90", help="the compute capability, times 10")
    parser.add_argument("--headers", type=pathlib.Path, metavar="FOLDER",
                        default=os.environ.get("FRIT_EMULATOR_HEADERS"))
    args = parser.parse_args()
    compiler = [args.cxx, f"-O{args.level}", f"-DFRIT_EMULATE={args.arch}", *FLAGS]
    with tempfile.TemporaryDirectory() as folder:
        headers = folder
        if args.headers:
            headers = args.headers.resolve() / alike(args)
        first = "frit/base.cuh"
        if args.headers:
            headers.mkdir(parents=True, exist_ok=True)
        compiler += includes(headers)
        if args.headers:
            first = precompile(headers, compiler)
        unit = pathlib.Path(folder) / "unit.cpp"
        unit.write_text(translation_unit([*map(text_of, args.kernels)]))
        # clang uses precompiled headers only with -include.
        return subprocess.run([*compiler, "-include", str(first), str(unit),
                               "-o", args.output], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
