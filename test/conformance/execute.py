"""Compiles, runs and compares one test; and workers that run many in parallel."""
import os
import pickle
import re
import selectors
import signal
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
from onnx import numpy_helper

from archives import unpack
from values import differs

MARCH = {"cpu": "x86-64-v3", "cuda": "sm_90a", "emulator": "sm_90a"}
SECONDS = 120  # for one test, compiled and run


class Unsupported(Exception):
    pass


class RuntimeFailure(Exception):
    """A model does not open, or a call fails."""


class Runtime:
    """Runs compiled models in this process, by the package frit."""

    def __init__(self, archive, folder, device):
        library = folder / "libfrit_runtime.so"
        subprocess.run(["cc", "-shared", "-o", library, "-Wl,--whole-archive",
                        archive, "-Wl,--no-whole-archive", "-lstdc++",
                        "-lpthread", "-ldl"], check=True)
        os.environ["FRIT_RUNTIME"] = str(library)
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] /
                               "tools/python"))
        import frit
        self.frit, self.device = frit, device

    def run(self, path, data_sets):
        """The outputs, in order, for every set of inputs by name."""
        try:
            with self.frit.load(path, device=self.device, threads=1) as module:
                return [[*module.run({i.name: np.asarray(data[i.name], order="C")
                                      for i in module.info.inputs}).values()]
                        for data in data_sets]
        except self.frit.Error as error:
            raise RuntimeFailure(str(error)) from None


def declared_tensor(value):
    """Type and shape that a model gives an input or the elements of a sequence."""
    kind = value.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
    return kind.tensor_type


def fixed_shapes(model, inputs, names):
    """-fshape flags for symbolic dimensions, from the data."""
    flags = []
    for value in model.graph.input:
        tensor = declared_tensor(value)
        if tensor.HasField("shape") and all(
                d.HasField("dim_value") for d in tensor.shape.dim):
            continue
        flags += [f"-fshape={name}:{'x'.join(map(str, inputs[name].shape))}"
                  for name in names if name == value.name
                  or re.fullmatch(re.escape(value.name) + r"\.\d+", name)]
    return flags


def named_inputs(case, given):
    """The values of a set of data by input, whose weights may be among the
    inputs; elements of a sequence have names of their own."""
    weights = {w.name for w in case.model.graph.initializer}
    names = [i.name for i in case.model.graph.input]
    if len(given) < len(names):
        names = [n for n in names if n not in weights]
    values = {}
    for name, value in zip(names, given):
        if isinstance(value, list):
            values |= {f"{name}.{i}": x for i, x in enumerate(value)}
        elif value is not None:
            values[name] = value
    return values


def element_counts(case):
    """-felements flags for sequences and for optionals without a value."""
    given = case.data[0][0] if case.data else []
    return [f"-felements={value.name}:{len(x or [])}"
            for value, x in zip(case.model.graph.input, given)
            if x is None or isinstance(x, list)]


def named_outputs(expected):
    """Expected values in the order of the artifact's outputs."""
    return [x for value in expected
            for x in (value if isinstance(value, list) else [value])]


def why(stderr, status):
    """The first error without its location, by which failures are grouped."""
    if status < 0 or status >= 3:
        return f"crash of fritc ({status})"
    for line in stderr.splitlines():
        match = re.search(r"error: (.*)", line)
        if not match:
            continue
        text = match.group(1)
        node = re.search(r"node '.*' \(([^,]*), opset \d+\): (.*)", text)
        if node:
            operator, message = node.groups()
            return (f"not importable: {operator}" if message == "not supported"
                    else f"{operator}: {message}")
        return re.sub(r"^[^ ]*\.onnx: ", "", text)
    return f"fritc ends with status {status}"


class Job:
    """A test compiled for a target, in a folder of its own."""

    def __init__(self, case, settings, folder):
        self.case, self.settings, self.folder = case, settings, folder
        self.fixed = []  # inputs that had to be known when compiling
        self.data = [(named_inputs(case, given), named_outputs(expected))
                     for given, expected in case.data]
        self.elements = element_counts(case)
        # The emulator runs no string steps, and JSON has no strings.
        if (settings["target"] == "emulator" or settings["via_json"]) and self.data:
            self.fixed = [n for n, x in self.data[0][0].items()
                          if np.asarray(x).dtype.kind in "OU"]

    def fritc(self, *flags):
        case, first = self.case, self.data[0][0] if self.data else {}
        names = list(first)
        while True:
            free = [n for n in names if n not in self.fixed]
            command = [self.settings["fritc"], "model.onnx", *flags,
                       *(f"-fconst-input={n}=@{names.index(n)}.pb"
                         for n in self.fixed),
                       *self.elements,
                       *fixed_shapes(case.model, first, free)]
            done = subprocess.run(command, cwd=self.folder, text=True,
                                  capture_output=True, errors="replace",
                                  timeout=SECONDS)
            # The compiler asks for inputs that must be constant.
            asked = {n for n in re.findall(
                r"-fconst-input=(.*?)=@FILE", done.stderr) if n in free}
            if done.returncode == 0 or not asked:
                break
            self.fixed += sorted(asked)
        if done.returncode:
            raise Unsupported(why(done.stderr, done.returncode))

    def compile(self):
        case = self.case
        if not self.data:
            raise Unsupported("no data in the package")
        (self.folder / "model.onnx").write_bytes(
            case.model.SerializeToString())
        for i, value in enumerate(self.data[0][0].values()):
            self.write_tensor(i, value)
        march = f"-march={MARCH[self.settings['target']]}"
        self.fritc(march, "-o", "model.so")
        if not self.settings["via_json"]:
            return
        self.fritc("--emit=json", "-o", "model.json")
        done = subprocess.run([self.settings["fritc"], "model.json", march,
                               "-o", "json.so"], cwd=self.folder, text=True,
                              capture_output=True, errors="replace",
                              timeout=SECONDS)
        if done.returncode:
            raise Unsupported(
                f"from JSON: {why(done.stderr, done.returncode)}")

    def write_tensor(self, i, value):
        try:
            tensor = numpy_helper.from_array(value)
        except (AttributeError, TypeError, ValueError):
            raise Unsupported("a value that is not a tensor") from None
        (self.folder / f"{i}.pb").write_bytes(tensor.SerializeToString())

    def verdict(self, runtime):
        """Nothing if the outputs are right, else what is wrong."""
        record = self.record()
        if self.settings["via_json"] and not needs_one(record):
            data = [given for given, _ in record["data"]]
            direct, via_json = (runtime.run(self.folder / library, data)
                                for library in ("model.so", "json.so"))
            if any(a.tobytes() != b.tobytes() for one, other in
                   zip(direct, via_json) for a, b in zip(one, other)):
                return f"from JSON it computes otherwise: {record['operator']}"
        return judge(runtime, self.folder / "model.so", record)

    def record(self):
        """All that is needed to run the test without the onnx package."""
        case = self.case
        return {"name": case.name, "kind": case.kind, "data": self.data,
                "rtol": case.rtol, "atol": case.atol,
                "random": case.is_random(), "fixed": self.fixed,
                "operator": "+".join(sorted({n.op_type for n in
                                             case.model.graph.node})[:3])}


def needs_one(record):
    """Returns why one artifact cannot serve all sets of data, if so."""
    fixed, sets = record["fixed"], record["data"]
    if any((given[n] != sets[0][0][n]).any()
           for given, _ in sets[1:] for n in fixed):
        return "sets of data differ in what must be known"
    return None


def compare(record, outputs, expected):
    """Why outputs are not what they should be, or nothing."""
    if len(outputs) != len(expected):
        return "wrong number of outputs"
    for got, wanted in zip(outputs, expected):
        reason = differs(got, wanted, record["rtol"], record["atol"],
                              record["random"])
        if reason:
            return f"{reason}: {record['operator']}"
    return None


def judge(runtime, library, record):
    if problem := needs_one(record):
        return problem
    try:
        results = runtime.run(library, [given for given, _ in record["data"]])
    except RuntimeFailure as failure:
        return f"runtime: {str(failure).replace(str(library.parent), chr(46))}"
    for outputs, (_, expected) in zip(results, record["data"]):
        if reason := compare(record, outputs, expected):
            return reason
    return None


def run_case(case, settings, folder, runtime):
    """(reason of failure or nothing, inputs that were fixed)"""
    folder = folder / case.name
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(case, settings, folder)
    try:
        job.compile()
        if settings["pack"]:
            (folder / "record").write_bytes(pickle.dumps(job.record()))
            return None, job.fixed
        reason = job.verdict(runtime)
    except Unsupported as problem:
        return str(problem), job.fixed
    except subprocess.TimeoutExpired:
        return "takes too long", job.fixed
    finally:
        if not settings["keep"] and not settings["pack"]:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
    return reason, job.fixed


#===----------------------------------------------------------------------===#
# Workers
#===----------------------------------------------------------------------===#

def serve(channel, task):
    """A forked worker: reads numbers of tests, writes their results."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    stream = channel.makefile("rwb")
    while (line := stream.readline()).strip():
        signal.alarm(SECONDS)
        try:
            result = task(int(line))
        except Exception as problem:  # A worker must not become a parent.
            result = f"harness: {type(problem).__name__}: {problem}", []
        signal.alarm(0)
        stream.write(pickle.dumps(result).hex().encode() + b"\n")
        stream.flush()
    os._exit(0)


class Worker:
    def __init__(self, task):
        self.channel, other = socket.socketpair()
        self.process = os.fork()
        if not self.process:
            self.channel.close()
            serve(other, task)
        other.close()
        self.stream = self.channel.makefile("rwb")
        self.test = None

    def give(self, test):
        self.test = test
        self.stream.write(f"{test}\n".encode())
        self.stream.flush()

    def end(self):
        """Returns how its process ended. Workers started later hold its channel open,
        so closing it would not tell it to."""
        try:
            self.stream.write(b"\n")
            self.stream.flush()
        except BrokenPipeError:
            pass
        status = os.waitpid(self.process, 0)[1]
        self.channel.close()
        return status


def run_all(count, task, jobs, crashed, done):
    """task(i) for every test in forked processes; one that takes its process
    down counts as crashed(i, signal)."""
    waiting = list(range(count))[::-1]
    poll = selectors.DefaultSelector()

    def start():
        if waiting:
            worker = Worker(task)
            worker.give(waiting.pop())
            poll.register(worker.channel, selectors.EVENT_READ, worker)

    for _ in range(min(jobs, count)):
        start()
    while poll.get_map():
        for key, _ in poll.select():
            worker = key.data
            line = worker.stream.readline()
            if line:
                done(worker.test, pickle.loads(bytes.fromhex(line.decode())))
                if waiting:
                    worker.give(waiting.pop())
                    continue
            poll.unregister(worker.channel)
            status = worker.end()
            if not line:
                done(worker.test, crashed(worker.test, status & 127))
                start()


#===----------------------------------------------------------------------===#
# Packs
#===----------------------------------------------------------------------===#

def write_pack(path, folder, reasons):
    """Compiled tests and their data in one file, for a machine with a GPU that
    has neither the onnx package nor a network; small if its name ends in xz."""
    how = {"mode": "w:xz", "preset": 6} if path.endswith("xz") else {"mode": "w"}
    with tarfile.open(path, **how) as pack:
        (folder / "reasons").write_bytes(pickle.dumps(reasons))
        for part in ("reasons", "kinds"):
            pack.add(folder / part, part)
        for name in sorted(reasons):
            if (folder / name / "record").exists():
                for part in ("record", "model.so"):
                    pack.add(folder / name / part, f"{name}/{part}")


def read_pack(path, folder):
    unpack(path, folder)
    return pickle.loads((folder / "reasons").read_bytes())
