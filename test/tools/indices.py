"""Checks that indices out of range are named with tensor, position and value: indices.py FOLDER EMULATOR

Inputs that an operator uses as indices have a range in the artifact, through whatever copies
their elements; the runtime holds host memory to it. With -fcheck-indices a model also checks
indices that it computes.
"""
import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import frit

os.chdir(sys.argv[1])
I32, I64, F32, U8 = TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.UINT8
WIDE = {"x": np.arange(40, dtype=np.float32).reshape(10, 4),
        "wide": np.arange(2000, dtype=np.float32).reshape(1000, 2)}


def weight(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model_of(nodes, inputs, outputs, weights=(), opset=18):
    """A graph of (operator, inputs, outputs, attributes)."""
    made = [helper.make_node(op, of, to, name=f"n{i}", **attributes)
            for i, (op, of, to, attributes) in enumerate(nodes)]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info(*spec) for spec in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [weight(*pair) for pair in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                   helper.make_opsetid("com.microsoft", 1)])


def compiled(*graph, options=(), shape=None):
    return frit.compile(model_of(*graph), march="x86-64-v3", options=options, shape=shape)


def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def fails(model, inputs, *says):
    try:
        model.run(inputs)
    except frit.Error as error:
        assert all(part in str(error) for part in says), (says, error)
        return
    raise AssertionError(f"no error with {says}")


def i64(*values):
    return np.array(values)


TABLE = [("table", WIDE["x"])]
# An embedding: from the front, from the end, and beyond.
plain = compiled([("Gather", ["table", "ids"], ["y"], {})], [("ids", I64, [2, 3])],
                 [("y", F32)], TABLE)
good = i64([0, 9, -10], [3, -1, 4])
assert (plain.run({"ids": good})["y"] == WIDE["x"][good]).all()
fails(plain, {"ids": i64([0, 11, 2], [3, 4, 2 ** 40])},
      "input 'ids': index 11 at [0, 1] is out of range, -10 to 9: node 'n0' indexes "
      "entries of 'table'")
fails(plain, {"ids": i64([0, 1, 2], [3, 4, 2 ** 40])}, f"index {2 ** 40} at [1, 2]")
fails(plain, {"ids": i64([0, 1, 2], [-11, 4, 0])}, "index -11 at [1, 0]")

# Through casts, reshapes, transposes and constants that are added.
moved = compiled([("Cast", ["ids"], ["a"], {"to": I64}), ("Unsqueeze", ["a", "axis"], ["b"], {}),
                  ("Transpose", ["b"], ["c"], {"perm": [1, 2, 0]}),
                  ("Add", ["c", "two"], ["d"], {}), ("Gather", ["table", "d"], ["y"], {})],
                 [("ids", U8, [2, 3])], [("y", F32)],
                 [*TABLE, ("axis", i64(0)), ("two", np.int64(2))])
moved.run({"ids": np.array([[0, 7, 2], [3, 4, 5]], np.uint8)})
fails(moved, {"ids": np.array([[0, 7, 2], [3, 8, 5]], np.uint8)},
      "index 8 at [1, 1] is out of range, -12 to 7")

# Columns of a matrix index tables of their own; a part is in range where the whole is not.
columns = compiled([("Slice", ["ids", "zero", "one", "one"], ["a"], {}),
                    ("Squeeze", ["a", "one"], ["b"], {}), ("Gather", ["table", "b"], ["y"], {}),
                    ("Slice", ["ids", "one", "two", "one"], ["c"], {}),
                    ("Gather", ["wide", "c"], ["z"], {})],
                   [("ids", I32, [4, 3])], [("y", F32), ("z", F32)],
                   [*TABLE, ("wide", WIDE["wide"]), ("zero", i64(0)), ("one", i64(1)),
                    ("two", i64(2))])
ids = np.array([[1, 900, 1 << 30]] * 4, np.int32)
columns.run({"ids": ids})
ids[2, 0] = 900
fails(columns, {"ids": ids}, "index 900 at [2, 0]", "-10 to 9", "'table'")
ids[2, 0], ids[3, 1] = 1, 1000
fails(columns, {"ids": ids}, "index 1000 at [3, 1]", "-1000 to 999", "'wide'")

joined = compiled([("Concat", ["a", "b"], ["c"], {"axis": 1}),
                   ("Gather", ["table", "c"], ["y"], {})],
                  [("a", I64, [2, 1]), ("b", I64, [2, 2])], [("y", F32)], TABLE)
fails(joined, {"a": i64([1], [2]), "b": i64([1, 2], [3, 10])}, "input 'b': index 10 at [1, 1]")
fails(joined, {"a": i64([1], [10]), "b": i64([1, 2], [3, 1])}, "input 'a': index 10 at [1, 0]")

# Every operator that takes indices, or lengths.
tuples = compiled([("GatherND", ["table", "at"], ["y"], {})], [("at", I64, [3, 2])],
                  [("y", F32)], TABLE)
tuples.run({"at": i64([0, 3], [9, 0], [-10, -4])})
fails(tuples, {"at": i64([0, 3], [9, 4], [1, 1])}, "index 4 at [1, 1] is out of range, -4 to 3")
fails(tuples, {"at": i64([0, 3], [9, 3], [10, 1])}, "index 10 at [2, 0]", "-10 to 9")
for op, shape, axis in [("GatherElements", [10, 2], 1), ("GatherElements", [3, 4], 0)]:
    model = compiled([(op, ["table", "at"], ["y"], {"axis": axis})], [("at", I64, shape)],
                     [("y", F32)], TABLE)
    at = np.zeros(shape, np.int64)
    at[2, 1] = limit = 4 if axis else 10
    fails(model, {"at": at}, f"index {limit} at [2, 1]")
scatter = compiled([("ScatterElements", ["table", "at", "new"], ["y"], {"axis": 0})],
                   [("at", I64, [2, 4]), ("new", F32, [2, 4])], [("y", F32)], TABLE)
fails(scatter, {"at": i64([0, 1, 2, 3], [10, 0, 0, 0]), "new": np.zeros((2, 4), np.float32)},
      "input 'at': index 10 at [1, 0]")
scatter = compiled([("ScatterND", ["table", "at", "new"], ["y"], {})],
                   [("at", I64, [2, 1]), ("new", F32, [2, 4])], [("y", F32)], TABLE)
fails(scatter, {"at": i64([3], [-11]), "new": np.zeros((2, 4), np.float32)},
      "input 'at': index -11 at [1, 0]")
loss = compiled([("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["y"],
                  {"ignore_index": -100})],
                [("scores", F32, [3, 5]), ("labels", I64, [3])], [("y", F32)])
scores = np.zeros((3, 5), np.float32)
loss.run({"scores": scores, "labels": i64(0, -100, 4)})
fails(loss, {"scores": scores, "labels": i64(0, -100, 5)},
      "input 'labels': index 5 at [2] is out of range, 0 to 4 or -100", "labels of 5 classes")
fails(loss, {"scores": scores, "labels": i64(0, -1, 4)}, "index -1 at [1]")
backwards = compiled([("ReverseSequence", ["x", "lengths"], ["y"], {})],
                     [("x", F32, [6, 2]), ("lengths", I64, [2])], [("y", F32)])
backwards.run({"x": np.zeros((6, 2), np.float32), "lengths": i64(6, 1)})
fails(backwards, {"x": np.zeros((6, 2), np.float32), "lengths": i64(6, 7)},
      "index 7 at [1] is out of range, 0 to 6")

regions = ([("RoiAlign", ["x", "rois", "of"], ["y"], {"sampling_ratio": 1})],
           [("x", F32, [2, 1, 4, 4]), ("rois", F32, [3, 4]), ("of", I64, [3])], [("y", F32)])
images = {"x": np.zeros((2, 1, 4, 4), np.float32), "rois": np.zeros((3, 4), np.float32)}
roi = compiled(*regions)
roi.run({**images, "of": i64(0, 1, 1)})
fails(roi, {**images, "of": i64(0, 1, 2)}, "index 2 at [2] is out of range, 0 to 1",
      "takes regions of 2 images")
fails(roi, {**images, "of": i64(-1, 1, 0)}, "index -1 at [0]")
blocks = compiled([("GatherBlockQuantized", ["data", "ids", "scale"], ["y"],
                    {"domain": "com.microsoft", "bits": 8, "block_size": 16})],
                  [("ids", I64, [2])], [("y", F32)],
                  [("data", np.zeros((10, 16), np.uint8)),
                   ("scale", np.ones((10, 1), np.float32))])
blocks.run({"ids": i64(9, -10)})
fails(blocks, {"ids": i64(9, 10)}, "index 10 at [1] is out of range, -10 to 9", "of 'data'")
cached = ([("Attention", ["q", "k", "k", "", "", "", "there"], ["y"], {})],
          [("q", F32, [2, 1, 1, 8]), ("k", F32, [2, 1, 5, 8]), ("there", I64, [2])],
          [("y", F32)])
keys = {"q": np.zeros((2, 1, 1, 8), np.float32), "k": np.zeros((2, 1, 5, 8), np.float32)}
attention = compiled(*cached, (), 24)
attention.run({**keys, "there": i64(5, 0)})
fails(attention, {**keys, "there": i64(5, 6)}, "index 6 at [1] is out of range, 0 to 5",
      "counts up to 5 keys")

# Constant numbers out of range are an error of the compiler.
try:
    compiled(regions[0], regions[1][:2], regions[2], [("of", i64(0, 1, 2))])
    raise AssertionError("compiled")
except frit.CompileError as error:
    assert "takes regions of 2 images: 2 is out of range, 0 to 1" in str(error), error

# OneHot takes any number, and so does an index that may be unused.
hot = compiled([("OneHot", ["ids", "five", "values"], ["y"], {})], [("ids", I64, [3])],
               [("y", F32)], [("five", i64(5)), ("values", np.array([0, 1], np.float32))])
assert hot.run({"ids": i64(0, 4, 77)})["y"].sum() == 2
then = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["t"])], "then", [],
                         [helper.make_tensor_value_info("t", F32, [2, 4])])
other = helper.make_graph([helper.make_node("Cast", ["table"], ["all"], to=F32),
                           helper.make_node("Slice", ["all", "zero", "two"], ["u"])], "else", [],
                          [helper.make_tensor_value_info("u", F32, [2, 4])])
branch = compiled([("If", ["which"], ["y"], {"then_branch": then, "else_branch": other})],
                  [("which", TensorProto.BOOL, []), ("ids", I64, [2])], [("y", F32)],
                  [*TABLE, ("zero", i64(0)), ("two", i64(2))])
branch.run({"which": np.array(False), "ids": i64(77, 78)})
masked = compiled([("Where", ["mask", "ids", "zero"], ["a"], {}),
                   ("Gather", ["table", "a"], ["y"], {})],
                  [("mask", TensorProto.BOOL, [2]), ("ids", I64, [2])], [("y", F32)],
                  [*TABLE, ("zero", i64(0))])
masked.run({"mask": np.array([True, False]), "ids": i64(3, -100)})

# A range of sizes: positions are the caller's.
ranged = compiled([("Gather", ["table", "ids"], ["y"], {})], [("ids", I64, ["batch", 3])],
                  [("y", F32)], TABLE, shape={"batch": range(1, 9)})
for batch in (1, 3, 8):
    ids = np.full((batch, 3), 9)
    ranged.run({"ids": ids})
    ids[batch - 1, 1] = 10
    fails(ranged, {"ids": ids}, f"index 10 at [{batch - 1}, 1]")

# Indices that the model computes are checked if that was asked for, and clamped otherwise.
sums = ([("Add", ["a", "b"], ["c"], {}), ("Gather", ["table", "c"], ["y"], {})],
        [("a", I64, [2, 3]), ("b", I64, [2, 3])], [("y", F32)], TABLE)
a, b = i64([0, 1, 2], [3, 4, 5]), i64([0, 0, 0], [0, 0, 6])
assert (compiled(*sums).run({"a": a, "b": b})["y"][1, 2] == WIDE["x"][9]).all()
for option in ("-fcheck-indices", "--check-indices"):
    checked = compiled(*sums, options=[option])
    assert (checked.run({"a": a, "b": b * 0})["y"] == WIDE["x"][a]).all()
    fails(checked, {"a": a, "b": b}, "index 11 at [1, 2] of a tensor of indices that the model "
          "computes is out of range, -10 to 9: node 'n1' indexes entries of 'table'")
    fails(checked, {"a": a, "b": -20 - b}, "index -20 at [0, 0]")
    checked.run({"a": a, "b": b * 0})
pairs = compiled([("Add", ["a", "b"], ["c"], {}), ("GatherND", ["table", "c"], ["y"], {})],
                 [("a", I64, [2, 2]), ("b", I64, [2, 2])], [("y", F32)], TABLE,
                 options=["-fcheck-indices"])
pairs.run({"a": i64([9, 3], [0, 0]), "b": i64([0, 0], [0, 0])})
fails(pairs, {"a": i64([9, 3], [0, 0]), "b": i64([0, 0], [0, 4])}, "index 4 at [1, 1]")

checked = compiled([("Add", ["of", "of"], ["twice"], {}),
                    ("RoiAlign", ["x", "rois", "twice"], ["y"], {"sampling_ratio": 1})],
                   *regions[1:], options=["-fcheck-indices"])
fails(checked, {**images, "of": i64(0, 1, 0)}, "index 2 at [1]", "2 images")

# Graphs in JSON: the same, for operators of the nn dialect.
GRAPH = {"frit": 1, "inputs": [{"name": "x", "type": "f32", "shape": [10, 4]},
                               {"name": "a", "type": "i64", "shape": [3]},
                               {"name": "b", "type": "i64", "shape": [3]}],
         "nodes": [{"op": "add", "inputs": ["a", "b"], "outputs": ["c"]},
                   {"op": "gather", "name": "embed", "inputs": ["x", "c"], "outputs": ["y"],
                    "attributes": {"axis": 0}},
                   {"op": "cross_entropy", "name": "loss", "inputs": ["y", "a"],
                    "outputs": ["z"]}], "outputs": ["z"]}
with open("g.json", "w") as file:
    json.dump(GRAPH, file)
for name, number in (("x", np.zeros((10, 4), np.float32)), ("a", i64(0, 3, 3)),
                     ("b", i64(0, 0, 9)), ("four", i64(0, 4, 0)), ("zero", i64(0, 0, 0))):
    np.save(f"{name}.npy", number)
for options, a, b, says in (
        ([], "a", "b", ""), ([], "four", "zero", "input 'a': index 4 at [1] is out of range, "
                             "0 to 3 or -100: node 'loss' takes labels of 4 classes"),
        (["-fcheck-indices"], "a", "zero", ""),
        (["-fcheck-indices"], "a", "b", "index 12 at [2] of a tensor of indices that the model "
         "computes is out of range, -10 to 9: node 'embed' indexes entries")):
    done = tool("fritc", "g.json", "-march=x86-64-v3", "-o", "g.so", *options)
    assert done.returncode == 0, done
    done = tool("frit-run", "g.so", "--input=x=@x.npy", f"--input=a=@{a}.npy",
                f"--input=b=@{b}.npy")
    assert bool(done.returncode) == bool(says) and says in done.stderr, done

# The kernels of that check for a GPU, on the emulator.
onnx.save(model_of(*sums), "sums.onnx")
for command in (["fritc", "sums.onnx", "-march=x86-64,sm_90a", "-fcheck-indices", "-o", "s.so"],
                ["fritc", "sums.onnx", "-march=sm_90a", "-fcheck-indices", "-S", "-o", "s.cu"],
                [sys.executable, f"{sys.argv[2]}/emulate.py", "s.cu", "-o", "k.so"]):
    assert tool(*command).returncode == 0, command
np.save("five.npy", np.full((2, 3), 5))
for other, says in [(4, ""), (6, "index 11 at [0, 0]")]:
    np.save("other.npy", np.full((2, 3), other))
    done = tool("emulate_run", "s.so", "k.so", "--input=a=five.npy", "--input=b=other.npy",
                "--output=out.npz")
    assert bool(done.returncode) == bool(says) and says in done.stderr, done

# --info tells the ranges, and frit-run and frit-train fail as well.
onnx.save(helper.make_model(helper.make_graph(
    [helper.make_node("Gather", ["table", "ids"], ["e"], name="embed"),
     helper.make_node("ReduceMean", ["e"], ["m"], keepdims=0, axes=[1]),
     helper.make_node("MatMul", ["m", "w"], ["y"])], "g",
    [helper.make_tensor_value_info("ids", I64, [4, 3])],
    [helper.make_tensor_value_info("y", F32, [4, 5])],
    [weight("table", WIDE["x"]), weight("w", np.ones((4, 5), np.float32))]),
    opset_imports=[helper.make_opsetid("", 17)]), "m.onnx")


assert tool("fritc", "m.onnx", "-march=x86-64-v3", "-o", "m.so").returncode == 0
info = json.loads(tool("frit-run", "m.so", "--info", "--json").stdout)
assert info["inputs"][0]["indices"] == [
    {"first": [0, 0], "sizes": [4, 3], "least": -10, "most": 9,
     "use": "node 'embed' indexes entries of 'table'"}], info
assert "embed" in tool("frit-run", "m.so", "--info").stdout
ids = np.zeros((4, 3), np.int64)
ids[3, 2] = 10
np.save("ids.npy", ids)
done = tool("frit-run", "m.so", "--input=@ids.npy")
assert done.returncode == 1 and "input 'ids': index 10 at [3, 2]" in done.stderr, done
with open("t.json", "w") as file:
    json.dump({"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "sgd"}}, file)
done = tool("fritc", "m.onnx", "--train=t.json", "-march=x86-64-v3", "-o", "t.so")
assert done.returncode == 0, done
for name, wrong, says in [("ids", 10, "input 'ids': index 10 at [3, 2]"),
                          ("labels", 5, "label 5 of sample 3 in 'labels'"),
                          ("labels", -100, "")]:
    data = {"ids": np.zeros((4, 3), np.int64), "labels": np.zeros(4, np.int64)}
    data[name].reshape(-1)[-1] = wrong
    np.savez("d.npz", **data)
    done = tool("frit-train", "t.so", "--device=cpu", "--data=d.npz", "--no-shuffle")
    assert done.returncode == (1 if says else 0) and says in done.stderr, done
done = tool("fritc", "m.onnx", "--train=t.json", "-fcheck-indices", "-o", "t.so")
assert done.returncode == 2 and "-fcheck-indices is not used with --train" in done.stderr
