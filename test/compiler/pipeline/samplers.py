"""Whole samplers as one call, against NumPy: samplers.py WORK

A small net that predicts from a sample, a time and a condition becomes its sampler by fritc --sampler.
The reference calls the net by ONNX Runtime and steps as diffusers' DDIMScheduler and
FlowMatchEulerDiscreteScheduler do.
"""
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

EMULATOR = Path(__file__).resolve().parents[2] / "emulator" / "model.sh"
work = Path(sys.argv[1])
rng = np.random.default_rng(3)
FREQUENCIES = (1e3 ** -(np.arange(4) / 4)).astype(np.float32)


def net(name, batch, *, channels=4, said=4, time=TensorProto.INT64, times=1, change=None):
    """said = conv(x) + W · [cos, sin](time) + V · condition, through tanh."""
    def weight(name, *shape):
        value = rng.normal(size=shape) * (0.3 if len(shape) == 4 else 0.2)
        return numpy_helper.from_array(value.astype(np.float32), name)

    nodes = [
        helper.make_node("Cast", ["timestep"], ["t"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["t", "one"], ["column"]),
        helper.make_node("Mul", ["column", "frequencies"], ["angles"]),
        helper.make_node("Cos", ["angles"], ["cos"]),
        helper.make_node("Sin", ["angles"], ["sin"]),
        helper.make_node("Concat", ["cos", "sin"], ["embedded"], axis=1),
        helper.make_node("MatMul", ["embedded", "wt"], ["about_time"]),
        helper.make_node("MatMul", ["condition", "wc"], ["about_condition"]),
        helper.make_node("Add", ["about_time", "about_condition"], ["about"]),
        helper.make_node("Unsqueeze", ["about", "last"], ["about4"]),
        helper.make_node("Conv", ["sample", "wx"], ["seen"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["seen", "about4"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["bent"]),
        helper.make_node("Conv", ["bent", "wy"], ["said"])]
    weights = [weight("wt", 8, 16), weight("wc", 6, 16), weight("wx", 16, channels, 3, 3),
               weight("wy", said, 16, 1, 1), numpy_helper.from_array(FREQUENCIES, "frequencies"),
               numpy_helper.from_array(np.array([1]), "one"),
               numpy_helper.from_array(np.array([2, 3]), "last")]
    inputs = [("sample", TensorProto.FLOAT, [batch, channels, 8, 8]), ("timestep", time, [times]),
              ("condition", TensorProto.FLOAT, [batch, 6])]
    outputs = [("said", TensorProto.FLOAT, [batch, said, 8, 8])]
    if change:
        change(nodes, inputs, outputs)
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs], weights)
    path = work / f"{name}.onnx"
    onnx.save(helper.make_model(graph, ir_version=9,
                                opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


def ddim(model, x, steps, predicts="noise", start=0.00085, end=0.012, scaled=True, offset=1,
         ends="first", count=1000):
    betas = (np.linspace(start ** 0.5, end ** 0.5, count) ** 2 if scaled else
             np.linspace(start, end, count))
    kept = np.cumprod(1 - betas)
    for time in (np.arange(steps) * (count // steps))[::-1] + offset:
        before = time - count // steps
        a = kept[time]
        b = kept[before] if before >= 0 else 1.0 if ends == "one" else kept[0]
        said = model(x, time)
        if predicts == "noise":
            noise, sample = said, (x - (1 - a) ** 0.5 * said) / a ** 0.5
        elif predicts == "sample":
            sample, noise = said, (x - a ** 0.5 * said) / (1 - a) ** 0.5
        else:
            sample = a ** 0.5 * x - (1 - a) ** 0.5 * said
            noise = a ** 0.5 * said + (1 - a) ** 0.5 * x
        x = b ** 0.5 * sample + (1 - b) ** 0.5 * noise
    return x


def flow(model, x, steps, shift=1.0, count=1000):
    def shifted(sigma):
        return shift * sigma / (1 + (shift - 1) * sigma)
    trained = shifted(np.arange(1, count + 1)[::-1] / count)
    sigmas = shifted(np.linspace(trained[0] * count, trained[-1] * count, steps) / count)
    for sigma, after in zip(sigmas, [*sigmas[1:], 0]):
        x = x + (after - sigma) * model(x, sigma * count)
    return x


def check(name, path, sampler, reference, *options, batch=2, guidance=None, emulated=False,
          tolerance=1e-4, sizes=None):
    session = onnxruntime.InferenceSession(path)
    kinds = {i.name: i for i in session.get_inputs()}
    kind = np.int64 if "int64" in kinds["timestep"].type else np.float32
    times = kinds["timestep"].shape[0]
    rows = batch * (2 if guidance else 1)
    condition = rng.normal(size=(rows, 6)).astype(np.float32)
    noise = rng.normal(size=(batch, 4, 8, 8)).astype(np.float32)

    def call(x, time):
        both = np.concatenate([x, x]) if guidance else x
        said = session.run(None, {"sample": both.astype(np.float32), "condition": condition,
                                  "timestep": np.full(times, time, kind)})[0][:, :4]
        if guidance:
            without, given = said[:batch], said[batch:]
            said = without + guidance * (given - without)
        return said.astype(np.float64)

    want = reference(call, noise.astype(np.float64))
    artifact = work / f"{name}.so"
    flags = [f"--sampler={sampler}" + (f",guidance={guidance}" if guidance else ""), *options]
    subprocess.run(["fritc", path, "-march=x86-64-v3", *flags, "-o", artifact], check=True)
    module = frit.load(artifact, device="cpu", threads=1)
    got = np.array(module(sample=noise, condition=condition)).astype(np.float64)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    assert error < tolerance, (name, error)
    assert np.linalg.norm(want - noise) > 10 * tolerance * np.linalg.norm(noise)
    if emulated:
        fritc = subprocess.run(["which", "fritc"], capture_output=True, text=True, check=True)
        subprocess.run(["bash", EMULATOR, Path(fritc.stdout.strip()).parent, sys.executable, path,
                        "1e-3", *flags], check=True, stdout=subprocess.DEVNULL)
    print("equal", name)


if __name__ == "__main__":
    work.mkdir(parents=True)
    plain = net("plain", 2)
    check("ddim", plain, "ddim:steps=20", lambda m, x: ddim(m, x, 20), emulated=True)
    check("ddim-one", plain, "ddim:steps=1", lambda m, x: ddim(m, x, 1))
    check("ddim-ho", plain, "ddim:steps=7,betas=linear,beta-start=0.0001,beta-end=0.02,offset=0,ends=one",
          lambda m, x: ddim(m, x, 7, start=0.0001, end=0.02, scaled=False, offset=0, ends="one"))
    check("velocity", plain, "ddim:steps=10,predicts=velocity",
          lambda m, x: ddim(m, x, 10, predicts="velocity"))
    check("sample", plain, "ddim:steps=10,predicts=sample",
          lambda m, x: ddim(m, x, 10, predicts="sample"))
    check("guided", net("twice", 4), "ddim:steps=5", lambda m, x: ddim(m, x, 5), guidance=7.5,
          emulated=True)
    floats = net("floats", 2, time=TensorProto.FLOAT, times=2)
    check("flow", floats, "flow:steps=10", lambda m, x: flow(m, x, 10), emulated=True)
    check("shifted", floats, "flow:steps=4,shift=3", lambda m, x: flow(m, x, 4, shift=3.0))
    check("half", floats, "flow:steps=10", lambda m, x: flow(m, x, 10), "-fprecision=fp16",
          tolerance=1e-2)
    # Models that also learn a variance; sizes that calls choose.
    check("variance", net("variance", 2, said=8), "ddim:steps=5", lambda m, x: ddim(m, x, 5))
    check("open", net("open", "batch"), "ddim:steps=5", lambda m, x: ddim(m, x, 5),
          "-fshape=batch=1..4", batch=3)
