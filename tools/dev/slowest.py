#!/usr/bin/env python3
"""Prints the slowest tests of the last run:  slowest.py BUILD [COUNT]

An entry is a test of ctest or one of lit's, which ctest runs as one. Times are
those of a machine whose cores the tests shared.
"""
import re
import sys
from pathlib import Path


def times(build: Path) -> dict[str, float]:
    """Seconds of each entry of the last run of ctest in the folder."""
    found = {}
    log = build / "Testing/Temporary/LastTest.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    for part in re.split(r"^\d+/\d+ Testing: ", text, flags=re.MULTILINE)[1:]:
        name = part.partition("\n")[0]
        if taken := re.search(r"^Test time = +([\d.]+) sec", part, re.MULTILINE):
            found[name] = float(taken[1])
    # lit keeps the times of tests of earlier runs; they count if it ran now.
    kept = build / "test/.lit_test_times.txt"
    if "lit" in found and kept.exists():
        del found["lit"]
        for seconds, name in re.findall(r"^(\S+) (.+)$", kept.read_text(), re.MULTILINE):
            found[f"lit: {name}"] = float(seconds)
    return found


def main() -> None:
    build = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    entries = sorted(times(build).items(), key=lambda entry: -entry[1])
    if not entries:
        sys.exit(f"{build}: no test has run there")
    print(f"the slowest {min(count, len(entries))} of {len(entries)} tests:")
    for name, seconds in entries[:count]:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
