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
PARTS = {"planted faults": 4, "kernels by NVRTC": 2, "kernels on Arm": 2,
         "sequences beside another": 2, "long tests of lit": 3}
#: Tests of lit that take 10 seconds or more.
LONG = [
    "codegen/cpu/attention", "codegen/cpu/codes", "codegen/cuda/nvrtc", "codegen/cuda/wgmma-bytes",
    "compiler/driver/resized-images", "compiler/driver/windows-of-any-size",
    "compiler/import/float8-products", "compiler/import/quantized-networks",
    "compiler/import/runtime-operators", "compiler/pipeline/experts", "compiler/pipeline/gated",
    "compiler/pipeline/hidden_rows", "compiler/pipeline/models", "compiler/pipeline/norms",
    "compiler/pipeline/order", "compiler/pipeline/samplers", "compiler/pipeline/sequence",
    "compiler/pipeline/sparse", "compiler/pipeline/states", "compiler/pipeline/variants",
    "compiler/pipeline/weights", "compiler/quantize/fp8", "compiler/quantize/networks",
    "compiler/quantize/search", "compiler/padding/padding", "custom/emulated",
    "language/adapters", "language/appends", "language/batches", "language/caches",
    "language/coded_caches", "language/families", "language/forms", "language/gguf",
    "language/grouped", "language/invariant", "language/past", "language/quantized",
    "language/quantized_errors", "language/sources", "python/module", "training/emulated",
    "training/float8", "training/gelu", "training/groups", "training/joint_norm", "training/norms",
    "training/ranks", "training/row_dots", "training/statistics"]


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
    chosen = pick("long tests of lit", LONG)
    os.environ["LIT_FILTER_OUT"] = "|".join(
        f"{name}[.]test" for name in LONG if name not in chosen)
    from lit.main import main
    main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["lit"]:
        del sys.argv[1]
        run_lit()
    else:
        for test in PARTS:
            print("part {} of {} of {}".format(*part(test), test))
