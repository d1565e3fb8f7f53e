#!/usr/bin/env python3
"""The parts of long tests that a check runs: the commit decides which.

    parts.py                prints them for the checked out commit
    parts.py lit ARGUMENTS  runs lit without the other parts of its long tests

All parts have run after a few commits. Tests import `pick`.
"""
import os
import pathlib
import subprocess
import sys

#: Into how many parts a test is divided.
PARTS = {"planted faults": 3, "kernels by NVRTC": 2, "kernels on Arm": 2,
         "sequences beside another": 2, "networks compiled in many ways": 3}
#: Tests of lit that take 20 seconds or more, each with networks like those of the others.
NETWORKS = [
    "compiler/driver/resized-images", "compiler/pipeline/gated", "compiler/pipeline/models",
    "compiler/pipeline/norms", "compiler/pipeline/order", "compiler/pipeline/samplers",
    "compiler/pipeline/sparse", "compiler/pipeline/variants", "compiler/pipeline/weights",
    "compiler/quantize/networks", "language/appends", "language/batches",
    "language/coded_caches", "language/gguf", "language/past", "language/quantized",
    "language/sources", "training/float8"]


def commit_hash() -> int:
    """The hash of the checked out commit as a number; 0 outside of a clone."""
    done = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "HEAD"],
                          capture_output=True, text=True, check=False)
    return int(done.stdout, 16) if done.returncode == 0 else 0


def part(name: str) -> tuple[int, int]:
    """The part to run, from 1 on, and how many there are."""
    return commit_hash() % PARTS[name] + 1, PARTS[name]


def pick(name: str, items: list) -> list:
    """Returns the items of the part that this commit runs, and says which it is."""
    chosen, parts = part(name)
    print(f"part {chosen} of {parts} of {name}", file=sys.stderr)
    return items[chosen - 1::parts]


def run_lit() -> None:
    chosen = pick("networks compiled in many ways", NETWORKS)
    os.environ["LIT_FILTER_OUT"] = "|".join(
        f"{name}[.]test" for name in NETWORKS if name not in chosen)
    from lit.main import main
    main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["lit"]:
        del sys.argv[1]
        run_lit()
    else:
        for test in PARTS:
            print("part {} of {} of {}".format(*part(test), test))
