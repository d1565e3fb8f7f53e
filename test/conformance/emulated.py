"""Compiled tests on the emulator, which runs CUDA kernels on the host."""
import os
import pathlib
import pickle
import shutil
import subprocess

import numpy as np

from execute import SECONDS, Unsupported, compare, needs_one, run_all, run_case
from values import plain, plain_dtype

EMULATE = (pathlib.Path(__file__).resolve().parent.parent / "emulator"
           / "emulate.py")

# Tests whose kernels are compiled for the host together, because compiler start-up and shared
# headers take most of the time.
BATCH = 40


def must(what, folder, *command):
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True,
                          errors="replace", timeout=SECONDS)
    if done.returncode:
        raise Unsupported(f"{what}: {done.stderr.strip()[:200]}")


def make_kernels(folders, library, settings, level):
    """Compiles the kernels of the artifacts in `folders` to one library."""
    must("kernels do not compile", library.parent, EMULATE,
         *(folder / "model.so" for folder in folders), "-o", library,
         f"--level={level}", f"--headers={settings['headers']}")


def is_long(record):
    """Returns whether optimizing a test's kernels pays off."""
    return record["kind"] == "light"


def judge(folder, record, library, unit, settings):
    """Runs the kernels; returns what is wrong with the results, or nothing."""
    if not library or not library.exists():
        library, unit = folder / "kernels.so", 0
        make_kernels([folder], library, settings, int(is_long(record)))
    problem = needs_one(record)
    for given, expected in record["data"]:
        if problem:
            return problem
        files = []
        for i, (name, value) in enumerate(given.items()):
            if name not in record["fixed"]:
                (folder / f"{i}.bin").write_bytes(
                    plain(np.asarray(value)).tobytes())
                files.append(f"--input={name}=@{i}.bin")
        must("emulator", folder, settings["emulate_run"], "model.so", library,
             f"--unit={unit}", "--output=out.bin", "--seeds=1", *files)
        problem = compare_bytes((folder / "out.bin").read_bytes(), record,
                                expected)
    return problem


def compare_bytes(data, record, expected):
    """Outputs are one after another in a file that says no types."""
    results = []
    for wanted in map(np.asarray, expected):
        dtype = plain_dtype(wanted.dtype.name)
        size = dtype.itemsize * wanted.size
        if len(data) < size:
            return "wrong size"
        results.append(np.frombuffer(data[:size], dtype).reshape(
            wanted.shape).astype(wanted.dtype))
        data = data[size:]
    return "wrong size" if data else compare(record, results, expected)


def run(tests, settings, folder, jobs, done):
    """Compiles all tests, then kernels of many at once, then runs each."""
    # Artifacts have the text of the kernels instead of machine code.
    os.environ["FRIT_NVRTC"] = settings["nvrtc"]
    compiled = {}

    def keep(i, result):
        if result[0]:
            done(i, result)
        else:
            compiled[i] = result[1]
    run_all(len(tests),
            lambda i: run_case(tests[i], settings | {"pack": True}, folder,
                               None),
            jobs, lambda i, s: (f"crash (signal {s})", []), keep)

    folders = {i: folder / tests[i].name for i in compiled}
    records = {i: pickle.loads((folders[i] / "record").read_bytes())
               for i in compiled}
    short = [i for i in sorted(compiled) if not is_long(records[i])]
    batches = [short[k:k + BATCH] for k in range(0, len(short), BATCH)]
    places = {i: (folder / f"kernels{b}.so", unit)
              for b, batch in enumerate(batches)
              for unit, i in enumerate(batch)}
    # If a batch does not compile, each of its tests compiles its own and reports errors.
    run_all(len(batches),
            lambda b: make_kernels([folders[i] for i in batches[b]],
                                   places[batches[b][0]][0], settings, 0),
            jobs, lambda b, s: None, lambda b, result: None)

    order = sorted(compiled)

    def task(k):
        i = order[k]
        try:
            reason = judge(folders[i], records[i],
                           *places.get(i, (None, 0)), settings)
        except Unsupported as problem:
            reason = str(problem)
        except subprocess.TimeoutExpired:
            reason = "takes too long"
        if not settings["keep"]:
            shutil.rmtree(folders[i])
        return reason, compiled[i]
    run_all(len(order), task, jobs,
            lambda k, s: (f"crash (signal {s})", compiled[order[k]]),
            lambda k, result: done(order[k], result))
