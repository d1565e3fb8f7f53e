"""Checks that frit-opt can run every pass of the compiler, and that a test does.

Usage: passes.py SOURCE MLIR_INCLUDE

A pass is a record of a Passes.td. The pipeline runs no others but MLIR's, and a
test names each in a RUN line.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

CREATED = re.compile(r"addPass\((?:\w+::)*create(\w+?)(?:Pass)?\(|addNestedPass<[^>]*>\(\s*"
                     r"(?:\w+::)*create(\w+?)(?:Pass)?\(")
UPSTREAM = {"cse"}


def argument(name):
    """Returns the argument of the pass that createNAME() makes."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(source, include):
    passes = set()
    for folder in ("compiler", "codegen", "dialects"):
        for file in Path(source, folder).rglob("Passes.td"):
            records = json.loads(output_of("llvm-tblgen", "--dump-json", "-I", include, "-I", source, file))
            passes.update(records[name]["argument"] for name in records["!instanceof"]["PassBase"])
    pipeline = "".join(file.read_text() for file in Path(source, "compiler", "pipeline").glob("*.cpp"))
    run = {argument(a or b) for a, b in CREATED.findall(pipeline)}
    known = set(re.findall(r"^ +--([a-z0-9-]+) ", output_of("frit-opt", "--help"), re.M))
    lines = "".join(line for file in Path(source, "test").rglob("*.mlir")
                    for line in file.open() if "RUN:" in line)

    problems = [f"the pipeline runs {name}, which is in no Passes.td"
                for name in run - passes - UPSTREAM]
    problems += [f"frit-opt lacks --{name}: register it" for name in passes - known]
    problems += [f"no test of test/**/*.mlir runs --{name}" for name in passes
                 if not re.search(rf"(--|[(,]){name}\b(?!-)", lines)]
    print("\n".join(sorted(problems)) or f"{len(passes)} passes, {len(run)} in the pipeline")
    return bool(problems or len(run) < 20)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
