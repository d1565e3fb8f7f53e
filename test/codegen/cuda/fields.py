"""Checks that no number of a schedule crashes the compiler.

Usage: fields.py CUDA.json TESTS FRIT_OPT, the former from llvm-tblgen --dump-json.

Sets each field of each attribute of the cuda dialect to values that no kernel
can have, for which the error must name the field, and to some that may give a
kernel. The other fields are those of a schedule that a test in TESTS states;
each attribute of a kernel must have one there.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

# An algorithm has 32 bits.
IMPOSSIBLE = ["-1", str(2**31), str(2**62)]
POSSIBLE = {"int64_t": ["0", "1"], "bool": ["false", "true"]}
SCHEDULE = re.compile(r"schedule\((#cuda\.(\w+)<([^<>]+)>)\)")


def attributes(records):
    """Yields the name, the fields and their types of each attribute."""
    for name in records["!instanceof"]["Cuda_Schedule"]:
        record = records[name]
        fields = {}
        for kind, field in record["parameters"]["args"]:
            kind = records[kind["def"]]["cppType"] if isinstance(kind, dict) else kind
            fields[field] = kind
        yield record["mnemonic"], fields


def examples(tests):
    """Returns a test with one scheduled fusion for each attribute."""
    found = {}
    for file in sorted(Path(tests).glob("*.mlir")):
        for part in re.split(r"^// -----$", file.read_text(), flags=re.M):
            for match in SCHEDULE.finditer(part):
                found.setdefault(match[2], (part, match))
    return found


def main(definitions, tests, frit_opt):
    records = json.loads(Path(definitions).read_text())
    known, problems, cases = examples(tests), [], []
    for name, fields in attributes(records):
        calls = "algorithm" in fields
        if fields and not calls and name not in known:
            problems.append(f"no test of {tests} has schedule(#cuda.{name}<...>)")
            continue
        text, match = known.get(name, ("", None))
        given = dict(pair.split(" = ") for pair in match[3].split(", ")) if match else {}
        for field, kind in fields.items():
            if kind not in POSSIBLE:
                continue
            impossible = [v for v in IMPOSSIBLE if field != "algorithm" or v != str(2**31)]
            for value in impossible * (kind == "int64_t") + POSSIBLE[kind]:
                numbers = ", ".join(f"{k} = {v}" for k, v in (given | {field: value}).items())
                schedule = f"#cuda.{name}<{numbers}>"
                case = (text[:match.start(1)] + schedule + text[match.end(1):] if match
                        else f"#schedule = {schedule}\n")
                cases.append((schedule, field, value in IMPOSSIBLE, case))
    source = "\n// -----\n".join(case for *_, case in cases)
    run = subprocess.run([frit_opt, "-", "--split-input-file", "--print-cuda", "-o", "/dev/null"],
                         input=source, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        problems.append(f"frit-opt ends with {run.returncode}:\n{run.stderr[-2000:]}")
    errors = {}
    for line, message in re.findall(r"^\S*?:(\d+):\d+: error: (.*)$", run.stderr, re.M):
        errors.setdefault(int(line), message)
    line = 1
    for schedule, field, impossible, case in cases:
        end = line + case.count("\n") + 2
        found = [message for at, message in errors.items() if line <= at < end]
        line = end
        if impossible and not any(re.search(rf"['`]{field}['`]", m) for m in found):
            problems.append(f"{schedule}: {found or 'no error'}")
    print("\n".join(problems) or f"{len(cases)} schedules")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
