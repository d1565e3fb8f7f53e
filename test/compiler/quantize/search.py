"""Weights that are rounded by data, search.py WORK: the error of a net whose inputs are correlated
falls, and a language model's does."""
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "language"))
import folders  # noqa: E402

work = Path(sys.argv[1])


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stderr


def results(*options):
    told = run("fritc", *options, "-march=x86-64-v3", "-o", work / "m.so")
    run("frit-run", work / "m.so", f"--input=x=@{work}/x.npy", f"--output=@{work}/y.npz")
    return np.load(work / "y.npz")["y"].astype("f8"), told


def check_net():
    """Two layers. Inputs have 24 directions among 128 numbers."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(size).astype(np.float32) / 8 for size in ((128, 256), (256, 128)))
    last = rng.standard_normal((128, 128)).astype(np.float32) / 8
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]),
             helper.make_node("Tanh", ["h"], ["s"]),
             helper.make_node("MatMul", ["s", "b"], ["t"]),
             helper.make_node("Sigmoid", ["t"], ["u"]),
             helper.make_node("MatMul", ["u", "last"], ["y"])]
    graph = helper.make_graph(
        nodes, "search", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 128])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in dict(a=a, b=b, last=last).items()])
    path = work / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    mix = rng.standard_normal((24, 128))
    data = (rng.standard_normal((33 * 16, 24)) @ mix / 5 + rng.standard_normal((33 * 16, 128)) / 50)
    data = data.astype(np.float32)
    np.save(work / "data.npy", data[:-16])
    np.save(work / "x.npy", data[-16:])  # not in the data
    want, _ = results(path)
    for weights in ("int4", "int4:32", "mxfp4", "fp8", "int8"):
        nearest, _ = results(path, f"-fweights={weights}")
        searched, told = results(path, f"-fweights={weights}", f"--calibrate={work}/data.npy")
        said = re.search(r"2 weights are rounded by the data; the error of their products is "
                         r"(\S+), to nearest (\S+)", told)
        ratio = np.linalg.norm(searched - want) / np.linalg.norm(nearest - want)
        assert float(said[1]) < 0.7 * float(said[2]), told
        assert weights == "int8" or ratio < 0.8, (weights, ratio)
        print(f"{weights}: the error falls")


def check_long_rows():
    """The first row of each call is 300 times as long as the others, as that of a text is in some
    layers of a language model. It must not decide how the weights are rounded."""
    rng = np.random.default_rng(7)
    a, last = (rng.standard_normal((128, 128)).astype(np.float32) / 8 for _ in range(2))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("Sigmoid", ["h"], ["s"]),
         helper.make_node("MatMul", ["s", "last"], ["y"])],
        "long", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 128])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in dict(a=a, last=last).items()])
    path = work / "long.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    mix = rng.standard_normal((24, 128))
    data = (rng.standard_normal((33 * 16, 24)) @ mix / 5 + rng.standard_normal((33 * 16, 128)) / 50)
    direction = np.where(np.arange(128) % 19 == 3, 300.0, 0.3) * rng.standard_normal(128)
    data[::16] = direction * (1 + rng.standard_normal((33, 1)) / 10)
    data[-16] = data[-15]
    data = data.astype(np.float32)
    np.save(work / "data.npy", data[:-16])
    np.save(work / "x.npy", data[-16:])  # without a long row
    want, _ = results(path)
    nearest, _ = results(path, "-fweights=int4:32")
    searched, _ = results(path, "-fweights=int4:32", f"--calibrate={work}/data.npy")
    ratio = np.linalg.norm(searched - want) / np.linalg.norm(nearest - want)
    assert ratio < 0.6, ratio
    print("long rows: the error falls")


def check_few_rows():
    """From 64 rows a search of 128 columns finds what suits these alone. Half of the data tell."""
    rng = np.random.default_rng(8)
    np.save(work / "data.npy", rng.standard_normal((64, 128)).astype(np.float32))
    np.save(work / "x.npy", rng.standard_normal((16, 128)).astype(np.float32))
    path = work / "long.onnx"
    want, _ = results(path)
    nearest, _ = results(path, "-fweights=int4:32")
    searched, told = results(path, "-fweights=int4:32", f"--calibrate={work}/data.npy")
    ratio = np.linalg.norm(searched - want) / np.linalg.norm(nearest - want)
    assert ratio < 1.03, (ratio, told)
    print("few rows:", told.split(", which")[0])


def check_folder():
    """A language model over tokens, whose calls begin with empty caches."""
    config = folders.CONFIGS["llama"] | dict(hidden_size=128, intermediate_size=256)
    folder = work / "llama"
    folders.write_folder(folder, config, folders.random_tensors(config, 6), 1)
    tokens = np.random.default_rng(6).integers(0, config["vocab_size"], (6, 16))
    np.save(work / "tokens.npy", tokens.astype(np.int32))
    told = run("fritc", folder, "-march=x86-64-v3", "-fshape=chunk=1,16", "--context=32",
               "-fweights=int4:32", f"--calibrate={work}/tokens.npy", "-o", work / "llama.so")
    said = re.search(r"(\d+) weights are rounded by the data; the error of their products is "
                     r"(\S+), to nearest (\S+)", told)
    assert said and float(said[2]) < float(said[3]), told
    assert int(said[1]) == 14 or " others are rounded to nearest" in told, told
    run("frit-run", work / "llama.so", "--tokens=1,2,3", "--max-tokens=4")
    print("llama: the error falls")


check_net()
check_long_rows()
check_few_rows()
check_folder()
