#!/usr/bin/env python3
"""The parts of long tests that a check runs: the commit decides which.

    parts.py        prints them for the checked out commit

All parts have run after a few commits. Tests import `pick`.
"""
import pathlib
import subprocess
import sys

#: Into how many parts a test is divided.
PARTS = {"planted faults": 3, "kernels by NVRTC": 2, "kernels on Arm": 2,
         "sequences beside another": 2}


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


if __name__ == "__main__":
    for test in PARTS:
        print("part {} of {} of {}".format(*part(test), test))
