"""Checks that no output replaces a file that the run reads or owns: owned_files.py FOLDER

Every output of every tool is aimed at every kind of file, by every kind of name. All are
refused with status 2 and leave every file as it was.
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.chdir(sys.argv[1])
CPU = "-march=x86-64"


def state():
    return {str(path): (path.lstat().st_ino, os.path.islink(path) and os.readlink(path) or
                        path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest())
            for path in sorted(Path(".").rglob("*"))}


def run(command, **options):
    return subprocess.run(command, capture_output=True, timeout=120, text=True, **options)


def works(*command, **options):
    done = run(command, **options)
    assert done.returncode == 0, (command, done)
    return done


def refused(*command, says="", **options):
    before = state()
    done = run(command, **options)
    assert done.returncode == 2 and says in done.stderr, (command, done)
    assert state() == before, command


# A model with external data, a training step with external weights, their data.
np.random.seed(0)
weight = np.random.randn(3, 4).astype(np.float32)
tensors = [numpy_helper.from_array(weight, "w"),
           numpy_helper.from_array(np.zeros(3, np.float32), "b")]
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, size])
        for name, size in [("x", 4), ("y", 3)])
graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], "g",
                          [x], [y], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), "m.onnx",
          save_as_external_data=True, location="m.data", size_threshold=0)
samples = {"x": np.random.randn(16, 4).astype(np.float32),
           "target": np.random.randn(16, 3).astype(np.float32)}
np.savez("d.npz", **samples)
os.mkdir("rows")
for name, array in samples.items():
    np.save(f"rows/{name}.npy", array)
Path("t.json").write_text(json.dumps({"loss": {"kind": "mse"}, "optimizer": {"kind": "sgd"}}))
Path("keep.txt").write_text("nothing\n")
os.mkdir("sub")
works("fritc", "m.onnx", "--train=t.json", CPU, "-fexternal-weights=sub/w.safetensors",
      "-o", "step.so")
works("fritc", "m.onnx", CPU, "-fexternal-weights=sub/v.safetensors", "-o", "m.so",
      "--report=page.html")
works("fritc", "m.onnx", CPU, "-O0", "-o", "shadow.so")
np.save("x.npy", samples["x"][:8])
works("frit-run", "m.so", "--input=@x.npy", "--output=@y.npz")


# Every kind of name.
def other_names(file):
    """Names that lead to a file; all but the first are made, and removed afterwards."""
    folder, name = os.path.split(file)
    yield file
    yield os.path.join(folder, "..", os.path.basename(os.path.abspath(folder)), name)
    yield os.path.abspath(file)
    yield f"/proc/self/cwd/{file}"
    for made in [f"alias{Path(file).suffix}", f"sub/alias{Path(file).suffix}"]:
        os.link(file, made)
        yield made
        os.unlink(made)
        os.symlink(os.path.abspath(file), made)
        yield made
        os.symlink(os.path.abspath(made), f"chain{Path(file).suffix}")
        yield f"chain{Path(file).suffix}"
        os.unlink(f"chain{Path(file).suffix}")
        os.unlink(made)
    os.symlink(os.path.abspath(folder), "twin")
    yield f"twin/{name}"
    os.unlink("twin")


TRAIN = ["frit-train", "step.so", "--device=cpu", "--data=d.npz", "--eval=rows", "--steps=2",
         "--from=m.onnx", "--export=n.onnx"]
TRAINED = ["step.so", "sub/w.safetensors", "d.npz", "rows/x.npy", "m.onnx", "m.data"]
RUN = ["frit-run", "m.so", "--device=cpu", "--input=@x.npy"]
READ = ["m.so", "sub/v.safetensors", "x.npy"]
COMPILE = ["fritc", "m.onnx", CPU, "--train=t.json", "-fkeep-fp32=keep.txt", "@flags"]
COMPILED = ["m.onnx", "m.data", "t.json", "keep.txt", "flags"]
Path("flags").write_text("-O1\n")
TABLE = [
    (TRAIN, "--export={}", TRAINED), (TRAIN, "--log={}", TRAINED),
    (RUN + ["--compare=y.npz"], "--output=@{}", READ + ["y.npz"]),
    (RUN, "--profile={}", READ),
    (RUN + ["--precision-report=shadow.so"], "--keep={}", READ + ["shadow.so"]),
    (COMPILE, "-o{}", COMPILED), (COMPILE, "--report={}", COMPILED),
    (COMPILE, "-ftune-generate={}", COMPILED),
    (COMPILE, "-fexternal-weights={}", COMPILED),
    (COMPILE + ["-c"], "--header={}", COMPILED),
    (["frit-reduce", "m.onnx", "--test=true", "--test-arg=keep.txt"], "-o{}",
     ["m.onnx", "m.data", "keep.txt"]),
]
for command, option, owned in TABLE:
    for file in owned:
        # The tools take only some endings; links have any.
        ending = {"--export={}": ".safetensors", "-fexternal-weights={}": ".safetensors"
                  }.get(option)
        if ending and not file.endswith(ending):
            for link in (os.link, os.symlink):
                link(os.path.abspath(file), f"alias{ending}")
                refused(*command, option.format(f"alias{ending}"), says="is not overwritten")
                os.unlink(f"alias{ending}")
            continue
        names = other_names(file) if file == owned[1] else [file, os.path.abspath(file)]
        for name in names:
            refused(*command, option.format(name), says="is not overwritten")
refused(*RUN, "--profile=page.html", "--report=page.html", says="is not overwritten")

# External data that no node reads: a weight, and constants of a branch and of a function.
def elsewhere(name, file):
    tensor = numpy_helper.from_array(np.ones(4, np.float32), name)
    Path(file).write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=file)
    return tensor


branches = [helper.make_graph([helper.make_node("Constant", [], ["r"], value=value)], name, [],
                              [helper.make_tensor_value_info("r", TensorProto.FLOAT, [4])])
            for name, value in [("same", numpy_helper.from_array(np.ones(4, np.float32))),
                                ("other", elsewhere("", "branch.data"))]]
function = helper.make_function("own", "Unused", ["p"], ["q"], [
    helper.make_node("Constant", [], ["c"], value=elsewhere("", "function.data")),
    helper.make_node("Mul", ["p", "c"], ["q"])], [helper.make_opsetid("", 18)])
graph = helper.make_graph(
    [helper.make_node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
     helper.make_node("If", ["yes"], ["k"], then_branch=branches[0], else_branch=branches[1]),
     helper.make_node("Add", ["x", "k"], ["y"])], "g", [x],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 4])], [elsewhere("left", "left.data")])
onnx.save(helper.make_model(graph, functions=[function], opset_imports=[
    helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]), "unused.onnx")
works("fritc", "unused.onnx", CPU, "-o", "unused.so")
for file in ["branch.data", "function.data", "left.data"]:
    refused("fritc", "unused.onnx", CPU, "-o", file, says="is not overwritten")
    refused("fritc", "unused.onnx", CPU, "-o", "u.so", f"-ftune-generate={file}",
            says="is not overwritten")
    refused("frit-reduce", "unused.onnx", "--test=true", "-o", file, says="is not overwritten")

# What frit-reduce writes holds these data: its folder has no other file.
os.mkdir("reduced")
works("frit-reduce", "unused.onnx", "--test=grep", "--test-arg=-q", "--test-arg=Unused", "-o",
      "reduced/r.onnx")
reduced = Path("reduced/r.onnx").read_bytes()
assert b"Unused" in reduced and b".data" not in reduced, reduced

# Bind mounts, where this machine permits them.
def bound(script, **options):
    return run([*ENTER, "sh", "-ec", script], **options)


for ENTER in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
    if shutil.which("unshare") and not bound("mount --bind x.npy y.npz").returncode:
        break
else:
    ENTER = None
    print("no bind mounts here")
if ENTER:
    Path("bound.so").write_text("")
    Path("bound.npz").write_text("")
    os.mkdir("place")
    before = state()
    for mount, command, says in [
        ("m.onnx bound.so", ["fritc", "m.onnx", CPU, "-o", "bound.so"], "it is the input 'm.onnx'"),
        ("m.data bound.so", ["fritc", "m.onnx", CPU, "-o", "bound.so"], "m.data'"),
        ("x.npy bound.npz", [*RUN, "--output=@bound.npz"], "it is the input 'x.npy'"),
        (". place", ["fritc", "m.onnx", CPU, "-o", "place/m.onnx"], "is not overwritten"),
        ("sub place", [*TRAIN, "--export=place/w.safetensors"], "is not overwritten"),
        ("sub place", [*TRAIN, "--export=sub/new.safetensors", "--log=place/new.safetensors"],
         "write the same file")]:
        done = bound(f"mount --bind {mount}; exec {' '.join(command)}")
        assert done.returncode == 2 and says in done.stderr, (command, done)
        assert state() == before, command

# Descriptors, and the files that messages go to.
for option in ["--export=/dev/fd/{}", "--log=/dev/fd/{}", "--log=/proc/self/fd/{}"]:
    with open("sub/w.safetensors", "ab") as file:
        os.symlink(f"/dev/fd/{file.fileno()}", "fd.safetensors")
        number = file.fileno()
        name = "--export=fd.safetensors" if "export" in option else option.format(number)
        refused(*TRAIN, name, says="is not overwritten", pass_fds=[number])
        os.unlink("fd.safetensors")
with open("text", "ab") as text:
    before = state()
    for option in ["--log=text", "--log=./text"]:
        done = subprocess.run([*TRAIN, option], stdout=text, stderr=subprocess.PIPE)
        assert done.returncode == 2 and state() == before, done
works(*TRAIN, "--log=/dev/stdout")

# The tool itself.
if os.access(shutil.which("fritc"), os.W_OK):
    tool = shutil.which("fritc")
    before = hashlib.sha256(Path(tool).read_bytes()).hexdigest()
    os.symlink(tool, "tool")
    refused("fritc", "m.onnx", CPU, "-o", "tool", says="this program runs from it")
    os.unlink("tool")
    assert before == hashlib.sha256(Path(tool).read_bytes()).hexdigest()

# Files that the program writes under names of its own: checkpoints, also later ones, and
# the stages of -save-temps.
for option in ["--export=run/step-000002.safetensors", "--log=run/step-000001.safetensors",
               "--log=run/step-1000000.safetensors.partial"]:
    refused(*TRAIN, "--checkpoint=run", option, says="it is the name of a checkpoint")
    os.mkdir("other")
    os.symlink("other", "run")
    refused(*TRAIN, "--checkpoint=other", option, says="it is the name of a checkpoint")
    os.unlink("run")
    os.rmdir("other")
refused(*TRAIN, "--checkpoint=d.npz", says="Not a directory")
for stage in ["k.nn.mlir", "k.plan.mlir", "k.x86-64.ll", "k.o"]:
    refused("fritc", "m.onnx", CPU, "-save-temps", "-o", "k.so", f"--report={stage}",
            says="it is the name of a stage")
works("fritc", "m.onnx", CPU, "-save-temps", "-c", "-o", "k.o")

# A checkpoint's name that an input has: it would be replaced, or removed.
os.mkdir("in")
for name in ["step-000001.safetensors", "step-000002.safetensors.partial"]:
    for link in (os.link, os.symlink, shutil.copy):
        link(os.path.abspath("d.npz"), f"in/{name}")
        data = f"in/{name}" if link is shutil.copy else "d.npz"
        refused("frit-train", "step.so", "--device=cpu", f"--data={data}", "--checkpoint=in",
                "--resume", says="is not overwritten")
        os.unlink(f"in/{name}")

# Each other: by name, and by links to a file that exists or not.
Path("old").write_text("")
os.symlink("old", "old.safetensors")
os.link("old", "old.jsonl")
os.symlink("later.safetensors", "new.jsonl")
for one, other in [("a.safetensors", "./a.safetensors"), ("old.safetensors", "old"),
                   ("old.safetensors", "old.jsonl"), ("later.safetensors", "new.jsonl"),
                   ("sub/../a.safetensors", "a.safetensors")]:
    refused(*TRAIN, f"--export={one}", f"--log={other}", says="write the same file")
refused("fritc", "m.onnx", CPU, "-o", "old", "--report=old.jsonl", says="write the same file")

# frit-opt: also options of MLIR that name files.
Path("p.mlir").write_text("module {}\n")
os.link("p.mlir", "hard.mlir")
for arguments in [["-o", "hard.mlir"], ["--mlir-generate-reproducer=p.mlir"],
                  ["--log-actions-to=hard.mlir"], ["--log-actions-to", "hard.mlir"],
                  ["-o", "q.mlir", "--log-actions-to=./q.mlir"]]:
    refused("frit-opt", "p.mlir", *arguments)

# What is nobody's may be replaced: a run's own earlier outputs, a log to append to, a
# checkpoint to go on from.
for _ in range(2):
    works(*TRAIN, "--export=out.safetensors", "--log=log.jsonl")
    works(*RUN, "--output=@out.npz")
    works("fritc", "m.onnx", CPU, "-fexternal-weights=sub/v.safetensors", "-o", "m.so")
assert Path("log.jsonl").read_text().count("\n") % 2 == 0
for steps in (2, 3):
    works(*TRAIN, f"--steps={steps}", "--checkpoint=run", "--resume", "--log=run/log.jsonl",
          "--export=run/out.safetensors", "--keep=1")
assert sorted(os.listdir("run")) == ["log.jsonl", "out.safetensors", "step-000003.safetensors"]
works("frit-run", "m.so", "--input=@x.npy", "--compare=y.npz")
