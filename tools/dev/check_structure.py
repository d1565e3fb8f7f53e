#!/usr/bin/env python3
"""Checks the rules for the tree's structure.

    check_structure.py [ROOT]

Top-level names are the design's, folders are three deep at most, a folder outside
of test has at most 40 sources, a source file has at most 500 lines (800 in test),
nothing is left to do in it, a header's guard follows its path, a page names source
files that exist, a test checks something, each prefix of FileCheck says what an
output has, and no two files of a library define the same file-local name
(local_names.py).
"""
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from local_names import collisions
from tree import files

TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE",
             "README.md", "codegen", "compiler", "dialects", "runtime", "test",
             "tools"}
SOURCE = {".c", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc", ".md", ".py", ".td",
          ".mlir", ".test"}
# Split so that this file does not match itself.
LEFT_OVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
CHECKS = re.compile(r"CHECK|FileCheck|expected-(error|warning|remark)|\bnot\b|\bdiff\b"
                    r"|\bcmp\b|%python|--compare|-verify")

HEADER = {".cuh", ".h", ".hpp"}
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.MULTILINE)
# A file that a page names by its path. NAME.td and FAMILY.cpp stand for any name.
NAMED = re.compile(r"`([\w./-]+/[\w-]*[a-z][\w-]*\.(?:cpp|cu|cuh|h|hpp|py|td))`")


# A run of FileCheck, up to the next command, and the prefixes of its checks.
RUNS = re.compile(r"RUN:.*?\bFileCheck\b([^|&;\n]*)")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")


def hollow_prefixes(text: str) -> Iterator[str]:
    """Prefixes that only have PREFIX-NOT checks."""
    prefixes = {prefix for run in RUNS.finditer(text)
                for found in PREFIXES.findall(run[1]) or ["CHECK"]
                for prefix in found.split(",")}
    for prefix in sorted(prefixes):
        states = re.compile(rf"(?<![\w-]){prefix}(-(NEXT|DAG|SAME|LABEL|EMPTY|COUNT-\d+))?"
                            rf"(\{{\w+\}})?:")
        if re.search(rf"(?<![\w-]){prefix}-NOT:", text) and not states.search(text):
            yield prefix


def guard_of(file: Path) -> str:
    """The include guard of `file`: its path, or how programs include a header of
    the runtime."""
    path = str(file).removeprefix("runtime/include/frit/")
    return "FRIT_" + re.sub(r"\W", "_", path).upper()


def missing_files(page: Path, text: str, tracked: set[str]) -> Iterator[str]:
    """Paths may begin at any folder."""
    for found in NAMED.finditer(text):
        path = re.sub(r"^(\.\.?/)+", "", found[1])
        if not any(file == path or file.endswith("/" + path) for file in tracked):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{page}:{line}: {found[1]} does not exist"


def crowded(tracked: list[Path]) -> Iterator[str]:
    sources = Counter(file.parent for file in tracked if file.parts[0] != "test"
                      and file.suffix in SOURCE - {".md"})
    for folder, count in sorted(sources.items()):
        if count > 40:
            yield f"{folder}: has {count} sources; more than 40 are too many for one folder"


def complaints(root: Path) -> Iterator[str]:
    tracked = files(root)
    names = set(map(str, tracked))
    for name in sorted({file.parts[0] for file in tracked}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name}: is no top-level name of the design"
    for file in tracked:
        if len(file.parts) > 4:
            yield f"{file}: lies more than three folders deep"
        if file.suffix not in SOURCE:
            continue
        text = (root / file).read_text()
        most = 800 if file.parts[0] == "test" else 500
        if (lines := text.count("\n")) > most:
            yield f"{file}: has {lines} lines; more than {most} are too many to read"
        if found := LEFT_OVER.search(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{file}:{line}: {found[0]}: finish it"
        guard = GUARD.search(text)
        if guard and guard[1].startswith("FRIT_") or file.suffix in HEADER:
            if not guard or guard[1] != guard_of(file):
                yield f"{file}: its include guard must be {guard_of(file)}"
        if file.suffix == ".md":
            yield from missing_files(file, text, names)
        if file.suffix in {".mlir", ".test"} and not CHECKS.search(text):
            yield f"{file}: checks nothing"
        if file.suffix in {".mlir", ".test"}:
            for prefix in hollow_prefixes(text):
                yield (f"{file}: prefix {prefix} only says what is absent, which "
                       "holds for an empty output, too")
    yield from crowded(tracked)
    yield from collisions(root, tracked)


def main() -> None:
    found = list(complaints(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(len(found) > 0)


if __name__ == "__main__":
    main()
