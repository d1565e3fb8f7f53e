#!/usr/bin/env python3
"""Prints how fritc's time and memory grow with the number of operators.

    compile_time.py --bin build/dev/bin
    compile_time.py --bin build/dev/bin --march x86-64,sm_90a --nodes 5000,20000,50000 --only 'chain|sum'
    compile_time.py --bin build/dev/bin --nodes 3500,7000,14000 --only 'trains$' --flag=--emit=plan --passes 0.1

Every kind of graph is compiled in every size for every target; networks also to
train. A row has the seconds of each stage by `fritc -ftime-report`, those of the
whole process, those of all cores together, the most memory that it took, and the
exponents between the last two sizes: 1 says that the cores' time, or memory,
grows with the number of nodes, 2 with its square. --passes=S adds the same for
each pass of S seconds or more, slowest first.

--most-exponent=E, --most-seconds=S and --most-mib=M make the exit status 1 where
a row of the largest size has more.

Needs onnx and numpy, no GPU.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from deep_graphs import KINDS as GRAPHS  # noqa: E402
from deep_networks import LOSS, NETWORKS  # noqa: E402

KINDS = [*GRAPHS, *NETWORKS, *(f"{name}_trains" for name in NETWORKS)]
STAGES = ("import", "model passes", "passes", "code", "artifact")


def times_of(report: str) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds by stage and by pass; the stages `passes` and `code` are those of
    the target."""
    stages, passes = {}, {}
    for line in report.splitlines():
        # The last time of a line is the wall clock's.
        match = re.match(r"(?: *([0-9.]+) \( *[0-9.]+%\))+  ( *)(\S.*)$", line)
        if match:
            found = passes if match[2] else stages
            name = re.sub(r"^(passes|code) for .*", r"\1",
                          match[3].removeprefix("{anonymous}::"))
            found[name] = found.get(name, 0.0) + float(match[1])
    return stages, passes


def write_model(kind: str, nodes: int, folder: Path) -> list[str]:
    """Writes a graph; returns its file and the flags that it needs."""
    model = folder / f"{kind}.onnx"
    trains = kind.endswith("_trains")
    kind = kind.removesuffix("_trains")
    script = "deep_networks.py" if kind in NETWORKS else "deep_graphs.py"
    # In a process of its own: a child's peak memory includes that of its parent
    # at the fork.
    subprocess.run([sys.executable, Path(__file__).parent / script, kind,
                    str(nodes), model], check=True)
    if not trains:
        return [model]
    options = folder / "train.json"
    options.write_text(json.dumps({"loss": LOSS, "optimizer": {"kind": "adamw"}}))
    return [model, f"--train={options}"]


def compile_once(fritc: Path, model: list[str], march: str, flags: list[str],
                 limit: float) -> dict:
    """The cost of one compilation, or why it failed."""
    with tempfile.TemporaryDirectory() as work:
        command = [fritc, *model, f"-march={march}", "-ftime-report", *flags,
                   "-o", Path(work, "model.so")]
        with open(Path(work, "said"), "w+", encoding="utf-8") as said:
            start = time.monotonic()
            child = subprocess.Popen(command, stderr=said,
                                     stdout=subprocess.DEVNULL)
            killer = threading.Timer(limit, child.kill)
            killer.start()
            # Includes the linker that fritc runs.
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - start
            killer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            report = said.read()
    if seconds >= limit:
        return dict(failed=f"took more than {limit:.0f} s")
    if child.returncode:
        return dict(failed=(report.strip() or f"exit status {child.returncode}")
                    .splitlines()[0])
    stages, passes = times_of(report)
    return dict(stages=stages, passes=passes, seconds=seconds,
                cpu=usage.ru_utime + usage.ru_stime,
                mib=usage.ru_maxrss / 1024)


def exponent(smaller: float, larger: float, ratio: float) -> float:
    # A lower limit, because tiny times have no meaningful exponent.
    return math.log(max(larger, 1e-3) / max(smaller, 1e-3)) / math.log(ratio)


def print_passes(before: dict, row: dict, least: float) -> None:
    """Prints the time of each pass in both sizes, and the exponent."""
    for name, seconds in sorted(row["passes"].items(), key=lambda e: -e[1]):
        if seconds >= least:
            earlier = before["passes"].get(name, 0)
            power = exponent(earlier, seconds, row["nodes"] / before["nodes"])
            print(f"  {name}: {earlier:.2f} to {seconds:.2f} s, ~ {power:.2f}",
                  flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, metavar="DIR",
                        help="where fritc is")
    parser.add_argument("--march", default="x86-64,sm_90a")
    parser.add_argument("--nodes", default="1250,5000,20000")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="kinds of graphs: " + ", ".join(KINDS))
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds that one compilation may take")
    parser.add_argument("--flag", action="append", default=[],
                        help="of fritc, as --flag=-O0")
    parser.add_argument("--passes", type=float, default=math.inf, metavar="S",
                        help="also print passes that take so many seconds")
    parser.add_argument("--most-exponent", type=float)
    parser.add_argument("--most-seconds", type=float)
    parser.add_argument("--most-mib", type=float)
    parser.add_argument("--json", action="store_true", help="a line for each")
    args = parser.parse_args()
    sizes = sorted(int(n) for n in args.nodes.split(","))
    failed = False

    if not args.json:
        print("| graph | target | nodes | " + " | ".join(STAGES) +
              " | seconds | of cores | MiB | time ~ | memory ~ |")
        print("|---" * (len(STAGES) + 8) + "|")
    for kind in KINDS:
        if not re.search(args.only, kind):
            continue
        for march in args.march.split(","):
            before = None
            for nodes in sizes:
                with tempfile.TemporaryDirectory() as work:
                    model = write_model(kind, nodes, Path(work))
                    found = compile_once(args.bin / "fritc", model, march,
                                         args.flag, args.limit)
                row = dict(graph=kind, target=march, nodes=nodes, **found)
                if "failed" in found:
                    failed = True
                    print(json.dumps(row) if args.json else
                          f"| {kind} | {march} | {nodes} | {found['failed']} |",
                          flush=True)
                    break
                powers = ["", ""]
                if before:
                    ratio = nodes / before["nodes"]
                    row["time_exponent"] = exponent(before["cpu"],
                                                    row["cpu"], ratio)
                    row["memory_exponent"] = exponent(before["mib"],
                                                      row["mib"], ratio)
                    powers = [f"{row['time_exponent']:.2f}",
                              f"{row['memory_exponent']:.2f}"]
                if args.json:
                    print(json.dumps(row), flush=True)
                else:
                    print(f"| {kind} | {march} | {nodes} | " + " | ".join(
                        f"{found['stages'].get(s, 0):.2f}" for s in STAGES) +
                        f" | {row['seconds']:.2f} | {row['cpu']:.2f} | "
                        f"{row['mib']:.0f} | "
                        f"{powers[0]} | {powers[1]} |", flush=True)
                    if before and nodes == sizes[-1]:
                        print_passes(before, row, args.passes)
                before = row
            else:
                for name, most in (("time_exponent", args.most_exponent),
                                   ("memory_exponent", args.most_exponent),
                                   ("seconds", args.most_seconds),
                                   ("mib", args.most_mib)):
                    if most is not None and row.get(name, 0) > most:
                        failed = True
                        print(f"{kind} for {march}: {name} of {nodes} nodes is "
                              f"{row[name]:.2f}, more than {most:.2f}",
                              file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
