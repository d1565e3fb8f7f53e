"""Checks that no tool overwrites its inputs, folders or devices: overwrite.py FOLDER MODEL

Naming an input in any other way, or a folder, is rejected with status 2 and
leaves every file unchanged; devices and pipes are written to.
"""
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER, DIGITS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
os.chdir(FOLDER)


def state():
    """The state of every file here, by name."""
    return {path: (path.lstat().st_ino, path.lstat().st_mode, os.path.islink(path) and
                   os.readlink(path) or path.is_file() and
                   hashlib.sha256(path.read_bytes()).hexdigest())
            for path in sorted(pathlib.Path(".").rglob("*"))}


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, timeout=60,
                          **options)


def refused(*command, says=b"which is not overwritten", status=2,
            **options):
    before = state()
    done = run(*command, **options)
    assert done.returncode == status, (command, done)
    assert says in done.stderr, (command, done)
    assert state() == before, command


shutil.copy(DIGITS, "m.onnx")
os.link("m.onnx", "hard.onnx")
os.symlink("m.onnx", "soft.onnx")
os.symlink("soft.onnx", "soft2")
os.mkdir("folder")
pathlib.Path("response").write_text("-march=x86-64\n")
weight = np.arange(64, dtype=np.float32)
np.save("w.npy", weight)

# The model under any name, for every kind of output.
CPU = "-march=x86-64"
for name in ["m.onnx", "./m.onnx", "folder/../m.onnx", "hard.onnx", "soft.onnx", "soft2"]:
    for flags in [[], ["-c"], ["--emit=nn"], ["--emit=plan"], ["--emit=json"]]:
        refused("fritc", "m.onnx", CPU, *flags, "-o", name)
    refused("fritc", "m.onnx", CPU, "-c", "-o", "m.o", f"--header={name}")
    refused("fritc", name, CPU, "-o", "m.onnx")
    refused("fritc", "m.onnx", CPU, f"-ftune-generate={name}", "-o", "m.so")
    refused("frit-reduce", "m.onnx", "--test=true", "-o", name)
refused("fritc", "m.onnx", "-march=sm_90a", "-S", "-o", "m.onnx")
refused("fritc", "-", "-xonnx", CPU, "-o", "m.onnx", stdin=open("m.onnx"))
# Standard output may be the model too.
with open("m.onnx", "ab") as same:
    before = state()
    done = subprocess.run(["fritc", "m.onnx", CPU, "--emit=nn", "-o", "-"],
                          stdout=same, stderr=subprocess.PIPE)
    assert done.returncode == 2 and state() == before, done
refused("fritc", "m.onnx", "@response", "-o", "response")
refused("fritc", "m.onnx", CPU, "-fconst-input=image=@w.npy", "-o", "w.npy")
refused("fritc", "m.onnx", CPU, "-o", "folder", says=b"it is a folder")
refused("fritc", "m.onnx", CPU, "-o", "none/", says=b"it is a folder")
refused("fritc", "m.onnx", CPU, "-c", "-o", "a.o", "--header=a.o",
        says=b"-o and --header write the same file")
refused("fritc", "m.onnx", CPU, "-c", "-o", "a.o", "--header=folder/../a.o",
        says=b"-o and --header write the same file")

# Weights beside the model, of ONNX and of a graph in JSON.
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [64])
graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y],
                          [numpy_helper.from_array(weight, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
onnx.save(model, "external.onnx", save_as_external_data=True, location="w.bin",
          size_threshold=0)
refused("fritc", "external.onnx", CPU, "-o", "w.bin")
os.link("w.bin", "beside.safetensors")
refused("fritc", "external.onnx", CPU, "-o", "e.so",
        "-fexternal-weights=beside.safetensors")
refused("frit-reduce", "external.onnx", "--test=true", "-o", "w.bin")
assert run("fritc", "external.onnx", "--emit=json", "-o", "g.json").returncode == 0
refused("fritc", "g.json", CPU, "-o", "g.json")
refused("fritc", "g.json", CPU, "-fexternal-weights", "-o", "g.so")
refused("fritc", "g.json", "--emit=json", "-o", "g.json")

# Stages are kept onto no input, and none of them, no tuning and no artifact is written
# where a later output would be refused.
for stage in ["nn.mlir", "plan.mlir", "x86-64.fused.mlir", "x86-64.ll", "x86-64.0.s", "o"]:
    os.link("m.onnx", f"k.{stage}")
    refused("fritc", "m.onnx", CPU, "-save-temps", "-o", "k.so",
            says=f"cannot write 'k.{stage}': it is the input 'm.onnx'".encode())
    os.unlink(f"k.{stage}")
os.link("m.onnx", "k.own.mlir")  # no name of a stage
os.link("m.onnx", "k.sm_90a.cu")  # no target of this command
os.link("w.bin", "e.html")
os.link("w.bin", "e.h")
for flags in [["--report=e.html", "-o", "k.so"], ["-c", "--header=e.h", "-o", "k.o"],
              ["-fexternal-weights=beside.safetensors", "-o", "k.so"]]:
    refused("fritc", "external.onnx", CPU, "-save-temps", *flags)
refused("fritc", "external.onnx", "--emit=json", "-save-temps", "-o", "beside.json")
refused("fritc", "external.onnx", "--emit=json", "-o", "beside.safetensors",
        says=b"-o and --emit=json write the same file")
refused("fritc", "external.onnx", "--emit=json", "-o", "/dev/null",
        says=b"--emit=json writes weights beside the graph")
assert not os.path.exists("/dev/null.safetensors")
assert run("fritc", "m.onnx", CPU, "-save-temps", "-o", "k.so").returncode == 0
assert os.path.exists("k.nn.mlir") and os.path.exists("k.x86-64.s")

# frit-reduce: its test, and the files that the test is given.
pathlib.Path("fails").write_text("#!/bin/sh\nexit 0\n")
os.chmod("fails", 0o755)
refused("frit-reduce", "m.onnx", "--test=./fails", "-o", "fails")
refused("frit-reduce", "m.onnx", "--test=true", "--test-arg=response", "-o", "response")

# frit-run: the model, its weights and the inputs.
assert run("fritc", "external.onnx", CPU, "-fexternal-weights", "-o", "e.so").returncode == 0
refused("frit-run", "e.so", "--output=@e.so")
refused("frit-run", "e.so", "--output=@e.safetensors")
np.save("x.npy", weight)
refused("frit-run", "e.so", "--input=@x.npy", "--output=@x.npy")
refused("frit-run", "e.so", "--output=@folder", says=b"it is a folder")

# A read-only file is not replaced either, except by root.
if os.geteuid():
    pathlib.Path("locked.so").write_text("precious")
    os.chmod("locked.so", 0o444)
    refused("fritc", "m.onnx", CPU, "-o", "locked.so", says=b"Permission denied", status=4)

# Symbolic links stay; their targets are written.
os.symlink("behind.so", "link.so")
assert run("fritc", "m.onnx", CPU, "-o", "link.so").returncode == 0
assert os.path.islink("link.so") and pathlib.Path("behind.so").stat().st_mode & 0o100

# Devices and pipes are written to.
for command in [["fritc", "m.onnx", CPU, "-o"], ["fritc", "-c", "m.onnx", CPU, "-o"],
                ["fritc", "m.onnx", CPU, "--emit=plan", "-o"],
                ["frit-reduce", "m.onnx", "--test=true", "-o"]]:
    assert run(*command, "/dev/null").returncode == 0, command
assert run("frit-run", "e.so", "--output=@/dev/null").returncode == 0
assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
assert not os.path.exists("/dev/null.h")
os.mkfifo("pipe")
for command, start in [(["fritc", "m.onnx", CPU, "-o", "pipe"], b"\x7fELF"),
                       (["fritc", "-c", "m.onnx", CPU, "-o", "pipe"], b"\x7fELF"),
                       (["frit-run", "e.so", "--output=@pipe"], b"PK")]:
    got = []
    reader = threading.Thread(target=lambda: got.append(open("pipe", "rb").read()))
    reader.start()
    assert run(*command).returncode == 0
    reader.join()
    assert got[0].startswith(start), command
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)

# No temporary file is left.
left = [path for path in os.listdir() if re.search(r"\.[0-9a-f]{8}$", path)]
assert not left, left
