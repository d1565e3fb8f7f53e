"""Tests one graph: reference results, frit's results, and files of a failure."""
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from graphs import TOLERANCE, by_reference, by_runtime

HERE = Path(__file__).resolve().parent
ARCHS = {"cpu": "x86-64-v3", "emulator": "sm_90a", "cuda": "sm_90a"}


class Failure(Exception):
    """A failure's kind, which is counted, and its details."""


@dataclass
class Case:
    model: onnx.ModelProto
    values: dict[str, np.ndarray]  # by name, those inside the graph too
    tolerances: dict[str, float]
    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    oracle: str

    def tolerance(self, name: str) -> float:
        return self.tolerances.get(name, TOLERANCE[np.dtype("float32")])

    @staticmethod
    def of(graph) -> "Case":
        computed = [*graph.values, *graph.sealed]
        values = ({v.name: v.array for v in computed} | graph.inputs
                  | graph.weights)
        tolerances = {v.name: v.tolerance for v in computed}
        return Case.make(graph.model(), values, tolerances,
                         lambda: [v.array for v in graph.results()])

    @staticmethod
    def make(model, values, tolerances, reference=None) -> "Case":
        """Computes the expected results by ONNX Runtime, or else by the reference."""
        weights = {w.name for w in model.graph.initializer}
        inputs = {i.name: first_of(values[i.name], i.type.tensor_type)
                  for i in model.graph.input if i.name not in weights}
        names = [o.name for o in model.graph.output]
        oracle = "runtime"
        try:
            results = by_runtime(model)(inputs)
        except Exception:
            # ONNX Runtime lacks the type, or the operator set is too new.
            oracle = "reference"
            results = (reference or (lambda: by_reference(model)(inputs)))()
        return Case(model, values, tolerances, inputs,
                    dict(zip(names, results)), oracle)


def first_of(array: np.ndarray, type_) -> np.ndarray:
    """Cuts inputs to the sizes of a model that frit-reduce has shrunk."""
    return array[tuple(slice(dim.dim_value) for dim in type_.shape.dim)]


def call(kind: str, *command, env=None) -> str:
    try:
        done = subprocess.run([str(c) for c in command], text=True,
                              capture_output=True, timeout=300, env=env)
    except subprocess.TimeoutExpired:
        raise Failure(f"{kind} hangs", "not done after 300 s")
    if done.returncode:
        first = next((line for line in done.stderr.splitlines()
                      if "error" in line), done.stderr.strip()[:200])
        # Names and sizes do not make a different kind.
        cause = re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+(x[0-9]+)*", "N", first)
        raise Failure(f"{kind} exits with {done.returncode}: {cause[-90:]}",
                      done.stderr[-3000:])
    return done.stdout


def compile(case: Case, work: Path, args) -> None:
    env = None
    if args.target == "emulator":
        nvrtc = args.bin.parent / "lib" / "libemulated_nvrtc.so"
        env = os.environ | {"FRIT_NVRTC": str(nvrtc)}
    onnx.save(case.model, work / "model.onnx")
    call("fritc", args.bin / "fritc", work / "model.onnx", "-o",
         work / "model.so", f"-march={ARCHS[args.target]}", *args.fritc,
         env=env)


def text_in(work: Path, args) -> Path:
    """The file of a compiled graph that has its kernels' text."""
    return work / "model.so"


def emulate(texts: list[Path], library: Path, args) -> None:
    """Compiles the kernels of artifacts, or CUDA texts, to one library."""
    call("emulate.py", sys.executable,
         HERE.parent / "emulator" / "emulate.py",
         *texts, "-o", library,
         "--level=0", f"--headers={args.headers}")


def save_inputs(case: Case, work: Path) -> list[str]:
    """Writes the inputs to files; returns the flags that name them."""
    files = []
    for name, array in case.inputs.items():
        if array.dtype.isbuiltin == 1:
            np.save(work / f"{name}.npy", array)
            files.append(f"--input={name}=@{work / name}.npy")
        else:
            path = work / f"{name}.pb"
            path.write_bytes(numpy_helper.from_array(array, name)
                             .SerializeToString())
            files.append(f"--input={name}=@{path}")
    return files


def run_emulated(case: Case, work: Path, library: Path, unit: int,
                 args) -> None:
    """Raises a Failure unless the outputs are right; the kernels are those of
    the library's file `unit`."""
    call("emulate_run", args.bin / "emulate_run", work / "model.so", library,
         f"--unit={unit}", "--seeds=1", f"--output={work}/out.npz",
         *save_inputs(case, work))
    compare(case, work / "out.npz")


def run(case: Case, work: Path, args) -> None:
    """Raises a Failure unless the outputs are right."""
    compile(case, work, args)
    if args.target == "emulator":
        emulate([text_in(work, args)], work / "kernels.so", args)
        run_emulated(case, work, work / "kernels.so", 0, args)
        return
    call("frit-run", args.bin / "frit-run", work / "model.so",
         *save_inputs(case, work), f"--device={args.target}",
         f"--output=@{work}/out.npz")
    compare(case, work / "out.npz")


def is_apart(case: Case, name: str, is_, right) -> bool:
    limit = case.tolerance(name)
    return not np.allclose(is_.astype(np.float64), right.astype(np.float64),
                           limit, limit, equal_nan=True)


def plain(array) -> np.ndarray:
    """Widens types that NumPy lacks, as frit-run does in .npz files."""
    array = np.asarray(array)
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def compare(case: Case, out: Path) -> None:
    with np.load(out) as actual:
        for name, right in case.expected.items():
            is_, right = actual[name], plain(right)
            if is_.shape != right.shape or is_.dtype != right.dtype:
                how, problem = "type", (f"{is_.dtype}{is_.shape} for "
                                        f"{right.dtype}{right.shape}")
            elif is_apart(case, name, is_, right):
                with np.errstate(all="ignore"):
                    apart = np.abs(is_.astype(np.float64)
                                   - right.astype(np.float64))
                how, problem = "value", (f"{np.nanmax(apart)} apart in "
                                         f"{apart.size} elements")
            else:
                continue
            raise Failure(f"wrong {how}", f"{name}: {problem}")


# Files of a failure. --------------------------------------------------------

def keep(case: Case, folder: Path, failure: Failure, args) -> None:
    kind, details = failure.args
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")
    (folder / "failure.txt").write_text(f"{kind}\n{details}\n")
    np.savez(folder / "values.npz", **case.values)
    (folder / "case.json").write_text(json.dumps(
        {"kind": kind, "target": args.target, "fritc": args.fritc,
         "bin": str(args.bin), "tolerances": case.tolerances}))
    test = folder / "test"
    test.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'run'} "
                    f"--case {folder.resolve()} --model \"$1\"\n")
    test.chmod(0o755)
    reduce = args.bin / "frit-reduce"
    if reduce.exists():
        subprocess.run([reduce, folder / "model.onnx", f"--test={test}", "-o",
                        folder / "small.onnx"], capture_output=True,
                       timeout=1800)


def is_other_failure(args) -> bool:
    """The test for frit-reduce: fails unless the model fails as the kept case does."""
    case = json.loads((args.case / "case.json").read_text())
    args.target, args.fritc = case["target"], case["fritc"]
    args.bin, args.headers = Path(case["bin"]), args.case / "headers"
    with np.load(args.case / "values.npz") as file:
        values = dict(file)
    model = onnx.load(args.model)
    work = args.model.parent
    try:
        run(Case.make(model, values, case["tolerances"]), work, args)
    except Failure as failure:
        return failure.args[0] != case["kind"]
    except Exception as problem:  # no model that anyone takes
        print(problem, file=sys.stderr)
    return True
