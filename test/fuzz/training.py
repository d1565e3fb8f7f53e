"""Tests one random network that trains: the emulator's state after a few calls
against the cpu target's.

A tensor's error is that of its change, relative to the change's norm and, less,
to that of all gradients, because some gradients are sums that cancel. In 16 bits
what the cpu target loses to f32 counts, too: rounding a kink's or a sum's operand
can change a gradient by any amount.
"""
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import check

sys.path.append(str(Path(__file__).resolve().parent.parent / "training"))

CALLS = 2
FLAGS = ["-fno-cudnn", "-fno-cublas"]
# Of a change, of all changes together, and of the loss through rounding.
KINKS = {"Relu", "LeakyRelu", "PRelu", "HardSwish", "Clip", "MaxPool", "Max",
         "ReduceMax"}
KINKED = 0.15  # where rounding may move an operand over one of these' kinks
LIMITS = {"fp32": (2e-3, 2e-5, 0), "amp-bf16": (3e-2, 4e-3, 3),
          "amp-fp16": (1e-2, 1e-3, 3)}


@dataclass
class Case:
    """A network as check.py's functions take it."""
    network: object
    model: onnx.ModelProto
    precision: str
    inputs: dict[str, np.ndarray]
    oracle: str = "cpu"

    @staticmethod
    def of(network, precision) -> "Case":
        if precision == "amp-fp16":
            network.config["loss_scale"] = {"initial": 256}
        return Case(network, network.model(), precision, network.inputs)


def compile(case: Case, work, args) -> None:
    onnx.save(case.model, work / "model.onnx")
    (work / "train.json").write_text(case.network.training_file())
    compile_as(case.precision, f"{args.arch},x86-64-v3", "model.so", work, args)


def compile_exact(case: Case, work, args) -> Path:
    """Compiles the network in f32 for the cpu target. Clipping at a norm that
    no gradient has makes it report the norm, as loss scaling does."""
    config = {"clip_norm": 1e30} | case.network.config
    (work / "exact.json").write_text(json.dumps(config))
    compile_as("fp32", "x86-64-v3", "exact.so", work, args, "exact.json")
    return work / "exact.so"


def compile_as(precision, archs, name, work, args, train="train.json") -> None:
    nvrtc = args.bin.parent / "lib" / "libemulated_nvrtc.so"
    check.call("fritc", args.bin / "fritc", work / "model.onnx",
               f"--train={work / train}", "-o", work / name,
               "-save-temps", f"-march={archs}", f"-fprecision={precision}",
               *FLAGS, *args.fritc,
               env=os.environ | {"FRIT_NVRTC": str(nvrtc)})


def text_in(work: Path, args) -> Path:
    """The file that has the text of the training step's kernels."""
    return work / f"model.{args.arch}.cu"


def run_emulated(case: Case, work, library, unit: int, args) -> None:
    check.call("emulate_run", args.bin / "emulate_run", work / "model.so",
               library, f"--unit={unit}", "--function=train_step",
               f"--calls={CALLS}", "--seeds=1", f"--output={work}/out.npz",
               *check.save_inputs(case, work))
    got = load(work / "out.npz")
    want = run_on_cpu(case, work / "model.so")
    try:
        compare(case, got, want, want)
    except check.Failure:
        if case.precision == "fp32":
            raise
        compare(case, got, want,
                run_on_cpu(case, compile_exact(case, work, args)))


def run(case: Case, work, args) -> None:
    """Compiles a network and its kernels alone, and runs it."""
    compile(case, work, args)
    check.emulate([text_in(work, args)], work / "kernels.so", args)
    run_emulated(case, work, work / "kernels.so", 0, args)


def run_on_cpu(case: Case, artifact) -> dict[str, np.ndarray]:
    """The loss of the last call, and the state after it."""
    from runtime import Step
    step = Step(str(artifact), "cpu")
    for _ in range(CALLS):
        results = step.train(**case.inputs)
    results = {n: np.asarray(a).astype(np.float64)
               for n, a in [*results.items(), *step.read().items()]}
    step.close()
    return results


def load(path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return {n: file[n].astype(np.float64) for n in file.files}


def compare(case: Case, got, want, exact) -> None:
    start = case.network.weights
    optimizer = case.network.config["optimizer"]["kind"]
    relative, absolute, noise = LIMITS[case.precision]
    if case.precision != "fp32" and KINKS & {
            node.op_type for node in case.network.nodes}:
        relative = KINKED
    change = {n: exact[n] - start[n] for n in start if n in exact}
    moments = {n: exact[n] for n in exact if n.endswith("/m")}
    gradients = moments or change
    total = sum(np.sum(c * c) for c in gradients.values()) ** 0.5
    problems = []
    for name, right in want.items():
        is_, near = got[name], exact.get(name, right)
        if name in ("loss_scale", "calls", "seed", "step", "micro_step",
                    "learning_rate"):
            if not np.array_equal(is_, right):
                problems.append(f"{name}: {is_} for {right}")
            continue
        if is_.shape != right.shape:
            problems.append(f"{name}: {is_.shape} for {right.shape}")
            continue
        base = start.get(name, np.zeros(()))
        weights, limit = np.ones(()), relative
        all_ = total
        if name in start and optimizer != "sgd":
            # An update says little of a small gradient but its sign.
            m = exact.get(f"{name}/m")
            if m is None or np.linalg.norm(m) < 1e2 * absolute * total:
                continue
            weights = np.abs(m) > 0.3 * np.sqrt(np.mean(m * m))
            limit, all_ = relative * 10, 0
        if name.endswith("/v"):
            limit, all_ = relative * 2, total * total
        if not name.endswith(("/m", "/v", "/momentum")) and name not in start:
            all_ = 0
        error = np.linalg.norm((is_ - right) * weights)
        rounding = np.linalg.norm((right - near) * weights)
        norm = np.linalg.norm((near - base) * weights)
        allowed = limit * norm + absolute * all_ + noise * rounding + 1e-6
        if not error <= allowed:
            problems.append(f"{name} {list(right.shape)}: {error:.2e} apart, "
                            f"{norm:.2e} large, {rounding:.2e} rounded")
    if problems:
        raise check.Failure("wrong training", "; ".join(problems[:40]))


def keep(case: Case, folder: Path, failure: check.Failure, args) -> None:
    """Leaves what fails: the model, the file of --train, inputs and flags."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")
    (folder / "train.json").write_text(case.network.training_file())
    np.savez(folder / "inputs.npz", **case.inputs)
    (folder / "failure.txt").write_text("\n".join(
        [*failure.args, case.precision, *FLAGS, *args.fritc]))
