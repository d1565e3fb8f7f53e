"""Runs the tools with little stack, and where no file may grow: limits.py FOLDER MODEL

A tool that has no room for its output says so in a line and ends by status 4, and leaves no file.
"""
import os
import resource
import shutil
import subprocess
import sys

os.chdir(sys.argv[1])
shutil.copy(sys.argv[2], "m.onnx")


def run(command, **limits):
    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return subprocess.run(command, capture_output=True, text=True, timeout=120,
                          preexec_fn=set_limits)


def works(*command, **limits):
    done = run(command, **limits)
    assert done.returncode == 0, (command, limits, done)


def full(*command, kept=()):
    before = set(os.listdir())
    done = run(command, FSIZE=16)
    assert done.returncode == 4 and "File too large" in done.stderr, (command, done)
    assert done.stderr.count("\n") == 1, (command, done)
    assert set(os.listdir()) - before == set(kept), (command, os.listdir())


def full_stream(*command):
    """The standard output is a file, too, or a device without room."""
    for path, limits in (("stream", {"FSIZE": 16}), ("/dev/full", {})):
        with open(path, "w", encoding="utf-8") as stream:
            done = subprocess.run(
                command, stdout=stream, stderr=subprocess.PIPE, text=True, timeout=120,
                preexec_fn=lambda: [resource.setrlimit(getattr(resource, f"RLIMIT_{name}"),
                                                       (value, value))
                                    for name, value in limits.items()])
        assert done.returncode == 4 and "cannot write to the standard output" in done.stderr, (
            command, done)
        assert done.stderr.count("\n") == 1, (command, done)


with open("m.mlir", "w", encoding="utf-8") as out:
    out.write("".join(f"func.func @f{i}(%x: tensor<4xf32>) -> tensor<4xf32> "
                      "{ return %x : tensor<4xf32> }\n" for i in range(50)))
works("fritc", "m.onnx", "-march=x86-64", "-o", "m.so")
full("fritc", "m.onnx", "-march=x86-64", "-c", "-o", "n.o")
full("fritc", "m.onnx", "-march=x86-64", "--emit=plan", "-o", "n.plan")
full("fritc", "m.onnx", "-march=x86-64", "-o", "n.o", "-c", "--report=n.html")
full("frit-opt", "m.mlir", "-o", "n.mlir")
full("frit-reduce", "m.onnx", "--test=true", "-o", "n.onnx")
full("frit-run", "m.so", "--output=@n.npz")
full("frit-run", "m.so", "--profile=n.html")
full_stream("frit-opt", "m.mlir")
full_stream("fritc", "m.onnx", "-march=x86-64", "--emit=plan", "-o", "-")
for tool in ("fritc", "frit-opt", "frit-run", "frit-train", "frit-reduce", "frit-tokenize",
             "frit-doctor"):
    full_stream(tool, "--help=man")

STACK = 64 << 10
for tool in ("fritc", "frit-opt", "frit-run", "frit-train", "frit-reduce", "frit-tokenize"):
    works(tool, "--help", STACK=STACK)
works("fritc", "m.onnx", "-march=x86-64", "-c", "-o", "s.o", STACK=STACK)
works("frit-opt", "m.mlir", "-o", "s.mlir", STACK=STACK)
works("frit-run", "m.so", STACK=STACK)
done = run(["frit-doctor"], STACK=STACK)
assert done.returncode in (0, 1) and "processor" in done.stdout, done
