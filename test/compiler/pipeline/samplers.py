"""Whole samplers as one call, against NumPy: samplers.py WORK

A small net that predicts from a sample, a time and a condition becomes its sampler by fritc --sampler.
The reference calls the net by ONNX Runtime and steps as diffusers' DDIMScheduler,
EulerDiscreteScheduler, DPMSolverMultistepScheduler and FlowMatchEulerDiscreteScheduler do.
"""
import json
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


def kept_variance(start, end, scaled, count):
    betas = (np.linspace(start ** 0.5, end ** 0.5, count) ** 2 if scaled else
             np.linspace(start, end, count))
    return np.cumprod(1 - betas)


def ddim(model, x, steps, predicts="noise", start=0.00085, end=0.012, scaled=True, offset=1,
         ends="first", count=1000, clip=None, spacing="leading"):
    kept = kept_variance(start, end, scaled, count)
    times = {"leading": lambda: (np.arange(steps) * (count // steps))[::-1] + offset,
             "linspace": lambda: np.linspace(0, count - 1, steps).round()[::-1].astype(int),
             "trailing": lambda: np.round(np.arange(count, 0, -count / steps)).astype(int) - 1}
    for time in times[spacing]():
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
        if clip:
            assert np.abs(sample).max() > clip
            sample = np.clip(sample, -clip, clip)
        x = b ** 0.5 * sample + (1 - b) ** 0.5 * noise
    return x


def euler(model, x, steps, predicts="noise", start=0.00085, end=0.012, scaled=True, offset=1,
          spacing="leading", count=1000):
    """Karras et al., arXiv:2206.00364, algorithm 1 of first order, as diffusers scales it."""
    kept = kept_variance(start, end, scaled, count)
    times = {"leading": lambda: (np.arange(steps) * (count // steps))[::-1] + offset,
             "linspace": lambda: np.linspace(0, count - 1, steps)[::-1],
             "trailing": lambda: np.arange(count, 0, -count / steps).round() - 1}[spacing]()
    sigmas = np.interp(times, np.arange(count), ((1 - kept) / kept) ** 0.5)
    x = x * ((sigmas[0] ** 2 + 1) ** 0.5 if spacing == "leading" else sigmas[0])
    for time, sigma, after in zip(times, sigmas, [*sigmas[1:], 0]):
        said = model(x / (sigma ** 2 + 1) ** 0.5, time)
        sample = (x - sigma * said if predicts == "noise" else
                  said * (-sigma / (sigma ** 2 + 1) ** 0.5) + x / (sigma ** 2 + 1))
        x = x + (x - sample) / sigma * (after - sigma)
    return x


def dpm(model, x, steps, predicts="noise", start=0.00085, end=0.012, scaled=True, offset=1,
        spacing="leading", ends="one", solver="midpoint", count=1000):
    """Lu et al., arXiv:2211.01095, algorithm 2."""
    kept = kept_variance(start, end, scaled, count)
    times = {"leading": lambda: ((np.arange(steps + 1) * (count // (steps + 1)))[::-1][:-1] + offset),
             "linspace": lambda: np.linspace(0, count - 1, steps + 1).round()[::-1][:-1],
             "trailing": lambda: np.arange(count, 0, -count / steps).round() - 1}[spacing]()
    of_training = ((1 - kept) / kept) ** 0.5
    sigmas = [*np.interp(times, np.arange(count), of_training), 0 if ends == "one" else of_training[0]]
    alphas = [1 / (s * s + 1) ** 0.5 for s in sigmas]
    noises = [s * a for s, a in zip(sigmas, alphas)]
    with np.errstate(divide="ignore"):
        lambdas = np.log(alphas) - np.log(noises)
    before = None
    for i, time in enumerate(times):
        a, s = alphas[i], noises[i]
        said = model(x, time)
        sample = {"noise": lambda: (x - s * said) / a, "velocity": lambda: a * x - s * said,
                  "sample": lambda: said}[predicts]()
        h = lambdas[i + 1] - lambdas[i]
        e = np.exp(-h) - 1
        y = noises[i + 1] / s * x - alphas[i + 1] * e * sample
        if i and not (i + 1 == steps and (steps < 15 or ends == "one")):
            slope = (sample - before) / ((lambdas[i] - lambdas[i - 1]) / h)
            y = y + (alphas[i + 1] * (e / h + 1) * slope if solver == "heun" else
                     -0.5 * alphas[i + 1] * e * slope)
        x, before = y, sample
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


#: scheduler_config.json of each class, as diffusers writes it for known models; what stands for it.
SD = dict(beta_end=0.012, beta_schedule="scaled_linear", beta_start=0.00085, clip_sample=False,
          num_train_timesteps=1000, set_alpha_to_one=False, steps_offset=1, trained_betas=None,
          prediction_type="epsilon", _diffusers_version="0.30.0")
HO = dict(start=0.0001, end=0.02, scaled=False, offset=0)


def check_configs(plain, fine):
    def compare(name, path, reference, **fields):
        file = work / f"{name}-scheduler_config.json"
        file.write_text(json.dumps(fields))
        check(name, path, f"{file}:steps=6", reference)

    compare("config-ddim", plain, lambda m, x: ddim(m, x, 6), _class_name="DDIMScheduler", **SD,
            skip_prk_steps=True)
    compare("config-clip", plain, lambda m, x: ddim(m, x, 6, clip=0.5, ends="one", **HO),
            _class_name="DDIMScheduler", clip_sample_range=0.5)
    compare("config-euler", fine, lambda m, x: euler(m, x, 6, spacing="leading"),
            _class_name="EulerDiscreteScheduler", **SD, timestep_spacing="leading",
            use_karras_sigmas=False, interpolation_type="linear")
    compare("config-dpm", fine, lambda m, x: dpm(m, x, 6, spacing="linspace", **HO),
            _class_name="DPMSolverMultistepScheduler", solver_order=2, algorithm_type="dpmsolver++")
    compare("config-flow", fine, lambda m, x: flow(m, x, 6, shift=3.0),
            _class_name="FlowMatchEulerDiscreteScheduler", num_train_timesteps=1000, shift=3.0)
    # Every field that asks for something else is named.
    refused = {
        "DDIMScheduler": dict(trained_betas=[0.1], prediction_type="v", thresholding=True,
                              rescale_betas_zero_snr=True, beta_schedule="squaredcos_cap_v2",
                              timestep_spacing="odd", clip_sample=1, beta_start="x", variance=1),
        "EulerDiscreteScheduler": dict(
            use_karras_sigmas=True, use_exponential_sigmas=True, use_beta_sigmas=True,
            interpolation_type="log_linear", sigma_min=0.1, sigma_max=9.0,
            timestep_type="continuous", final_sigmas_type="sigma_min"),
        "DPMSolverMultistepScheduler": dict(
            solver_order=3, algorithm_type="sde-dpmsolver++", solver_type="bh2",
            final_sigmas_type="other", lower_order_final=False, euler_at_final=True,
            thresholding=True, use_karras_sigmas=True, use_exponential_sigmas=True,
            use_beta_sigmas=True, use_lu_lambdas=True, use_flow_sigmas=True,
            variance_type="learned"),
        "FlowMatchEulerDiscreteScheduler": dict(
            use_dynamic_shifting=True, invert_sigmas=True, shift_terminal=0.1, shift="1",
            use_karras_sigmas=True, use_exponential_sigmas=True, use_beta_sigmas=True,
            stochastic_sampling=True),
        "PNDMScheduler": dict(_class_name="PNDMScheduler")}
    file = work / "scheduler_config.json"
    for name, fields in refused.items():
        for field, value in fields.items():
            file.write_text(json.dumps({"_class_name": name, field: value}))
            done = subprocess.run(["fritc", plain, f"--sampler={file}:steps=6", "-o", work / "no.so"],
                                  capture_output=True, text=True)
            assert done.returncode == 1 and f'scheduler_config.json: "{field}" is' in done.stderr, (
                name, field, done.stderr)
    for text, why in (("{", "is not JSON from"), ("[]", "is no object of a scheduler")):
        file.write_text(text)
        done = subprocess.run(["fritc", plain, f"--sampler={file}:steps=6", "-o", work / "no.so"],
                              capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr, done.stderr
    print("ok refused fields")


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
    check("clip", plain, "ddim:steps=6,clip=0.7", lambda m, x: ddim(m, x, 6, clip=0.7), emulated=True)
    for spacing in ("linspace", "trailing"):
        check(f"ddim-{spacing}", plain, f"ddim:steps=6,spacing={spacing}",
              lambda m, x: ddim(m, x, 6, spacing=spacing))
    fine = net("fine", 2, time=TensorProto.FLOAT)
    for spacing in ("leading", "linspace", "trailing"):
        check(f"euler-{spacing}", fine, f"euler:steps=9,spacing={spacing}",
              lambda m, x: euler(m, x, 9, spacing=spacing), emulated=spacing == "linspace")
        check(f"dpm-{spacing}", fine, f"dpm:steps=9,spacing={spacing}",
              lambda m, x: dpm(m, x, 9, spacing=spacing), emulated=spacing == "leading")
    check("euler-velocity", fine, "euler:steps=5,predicts=velocity",
          lambda m, x: euler(m, x, 5, predicts="velocity"))
    check("dpm-long", fine, "dpm:steps=17,ends=first", lambda m, x: dpm(m, x, 17, ends="first"))
    check("dpm-heun", fine, "dpm:steps=7,solver=heun,predicts=velocity",
          lambda m, x: dpm(m, x, 7, solver="heun", predicts="velocity"))
    check("dpm-guided", net("dpm-twice", 4), "dpm:steps=4", lambda m, x: dpm(m, x, 4), guidance=3.0)
    check("dpm-one", fine, "dpm:steps=1", lambda m, x: dpm(m, x, 1))
    check("dpm-open", net("dpm-any", "batch"), "dpm:steps=3", lambda m, x: dpm(m, x, 3),
          "-fshape=batch=1..4", batch=3)
    check_configs(plain, fine)
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
