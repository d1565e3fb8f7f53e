#!/usr/bin/env python3
"""Compiles the kernels of .cu files with NVRTC for several architectures.

Usage: nvrtc.py --headers=codegen/cuda [--part] [--arch=sm_75,...] FILE.cu...

No GPU is needed. The headers are passed in memory under the names frit/X,
as the compiler does. Exits with 77, "skipped", if there is no NVRTC.
Prints the registers and spilled bytes of every kernel where cuobjdump exists
and --resources is given.
"""

import argparse
import ctypes
import ctypes.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
import parts  # noqa: E402

SKIPPED = 77


def open_nvrtc():
    names = [ctypes.util.find_library("nvrtc"), "libnvrtc.so.13", "libnvrtc.so",
             "/usr/local/cuda/lib64/libnvrtc.so",
             *map(str, pathlib.Path(sys.prefix).glob(
                 "lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*"))]
    for name in filter(None, names):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        # NVRTC loads its builtins library by name, but a wheel's folder is not in the loader's
        # path.
        for builtins in pathlib.Path(name).parent.glob("libnvrtc-builtins.so*"):
            ctypes.CDLL(str(builtins))
        return library
    return None


def compile_text(nvrtc, text, name, headers, arch):
    """Returns (cubin or None, log)."""
    program = ctypes.c_void_p()
    count = len(headers)
    names = (ctypes.c_char_p * count)(*[f"frit/{h}".encode() for h in headers])
    texts = (ctypes.c_char_p * count)(*[t.encode() for t in headers.values()])
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(),
                             name.encode(), count, texts, names)
    options = [f"-arch={arch}", "-std=c++20", "-default-device"]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    cubin = None
    if not failed:
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, cubin)
        cubin = cubin.raw
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin, log.value.decode()


def print_resources(cubin):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        subprocess.run(["cuobjdump", "--dump-resource-usage", file.name],
                       check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headers", required=True)
    parser.add_argument("--arch", default="sm_75,sm_80,sm_90a,sm_100,sm_120")
    parser.add_argument("--part", action="store_true",
                        help="only some files for each architecture")
    parser.add_argument("--resources", action="store_true")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    nvrtc = open_nvrtc()
    if nvrtc is None:
        print("skipped: no NVRTC on this machine")
        return SKIPPED
    headers = {path.name: path.read_text()
               for path in sorted(pathlib.Path(args.headers).glob("*/*.cuh"))}
    failures = 0
    # By turns, so that a part has some files for every architecture.
    pairs = [(file, arch) for file in args.files for arch in args.arch.split(",")]
    if args.part:
        pairs = parts.pick("kernels by NVRTC", pairs)
    for file, arch in pairs:
        text = pathlib.Path(file).read_text()
        cubin, log = compile_text(nvrtc, text, file, headers, arch)
        if cubin is None or log.strip("\0\n "):
            print(f"{file} for {arch}:\n{log}")
        failures += cubin is None
        if cubin and args.resources and shutil.which("cuobjdump"):
            print_resources(cubin)
    print(f"{failures} of {len(pairs)} compilations failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
