"""Checks --help, the manual pages and completion of each tool: help.py FOLDER SOURCE

All of them must list the options of the tool's Options.td, and the tool must take
them. Pages are checked by groff and zsh if the machine has them.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

os.chdir(sys.argv[1])
source = pathlib.Path(sys.argv[2])
TOOLS = {"fritc": ["--emit=", "--report=", "-march=", "-o", "--name=", "-Wno-", "-Rpass="],
         "frit-run": ["--input=", "--compare=", "--profile", "-v"],
         "frit-train": ["--data=", "--lr=", "--resume", "-v"],
         "frit-opt": ["--layout", "--pass-pipeline=", "-o"],
         "frit-reduce": ["--test=", "-o"],
         "frit-doctor": ["--need=", "--json"],
         "frit-tokenize": ["--decode", "--json"]}


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def complete(tool, line):
    """bash's completions of the last word of `line`."""
    script = (f"source {tool}.bash; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; "
              f"_{tool.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return output("bash", "-c", script).split()


def table(tool):
    """Options of the tool's Options.td that help shows: their names and kinds."""
    folder = source / ("compiler/driver" if tool == "fritc" else f"tools/{tool}")
    includes = output("llvm-config", "--includedir").strip()
    records = json.loads(output("llvm-tblgen", "--dump-json", "-I", includes, "-I", source,
                                folder / "Options.td"))
    for name in records["!instanceof"]["Option"]:
        option = records[name]
        hidden = any(flag["def"] == "HelpHidden" for flag in option["Flags"])
        if option["Group"] and not hidden:
            assert option["HelpText"] and records[option["Group"]["def"]]["HelpText"], name
            yield option["Prefixes"][0] + option["Name"], option["Kind"]["def"]


def is_applied(tool, name, kind):
    """Whether code of the tool looks at the option. Its value is wrong or missing."""
    command = [tool, name + ("1" if kind == "KIND_JOINED" else ""), "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    return "no code applies" not in done.stderr and "unknown option" not in done.stderr


for tool, some in TOOLS.items():
    # MLIR prints frit-opt's --help.
    text = output(tool, "--help=text" if tool == "frit-opt" else "--help")
    assert max(map(len, text.splitlines())) <= 80, text
    assert text.startswith(f"usage: {tool} ") and "Exit status: 0 done" in text, text
    # No list of values is there twice.
    lists = re.findall(r"(?:[\w.-]+, ){3,}[\w.-]+ or [\w.-]+", " ".join(text.split()))
    assert len(lists) == len(set(lists)), sorted(lists)
    options = re.findall(r"^  (-[-\w#]+=?)", text, re.MULTILINE)
    assert set(some) <= set(options), (some, options)
    declared = dict(table(tool))
    assert set(declared) == {o for o in options if o in declared or tool != "frit-opt"}, (
        set(declared) ^ set(options))
    if tool == "frit-opt":
        # MLIR has these.
        known = output(tool, "--help")
        assert all(re.search(rf"^ +-{{1,2}}{re.escape(o.strip('-='))}\b", known, re.MULTILINE)
                   for o in declared if "help" not in o), declared
    else:
        assert all(is_applied(tool, *option) for option in declared.items()), tool
    for form in ["man", "markdown", "bash", "zsh"]:
        pathlib.Path(f"{tool}.{form}").write_text(output(tool, f"--help={form}"))
    page = pathlib.Path(f"{tool}.man").read_text().replace("\\-", "-")
    rows = pathlib.Path(f"{tool}.markdown").read_text()
    shells = pathlib.Path(f"{tool}.zsh").read_text()
    for option in options:
        assert f"\\fB{option}" in page, option
        assert f"| `{option}" in rows, option
        assert f"'*{option}" in shells, option
    offered = complete(tool, f"{tool} -")
    assert all(any(word.startswith(o) for word in offered) for o in options), offered
    if shutil.which("groff"):
        output("groff", "-man", "-ww", "-z", f"{tool}.man")
    if shutil.which("zsh"):
        output("zsh", "-n", f"{tool}.zsh")

pathlib.Path("net.onnx").touch()
pathlib.Path("net.txt").touch()
os.mkdir("nets")
assert complete("fritc", "fritc --emit=") == "json nn fused plan dot cuda ptx cubin obj shared".split()
assert complete("fritc", "fritc x.onnx --emit=f") == ["fused"]
assert complete("fritc", "fritc -march=sm_90a,x86-64-v") == [
    f"sm_90a,x86-64-v{n}" for n in (2, 3, 4)]
assert complete("fritc", "fritc -fpre") == ["-fprecision="]
assert complete("fritc", "fritc -O") == ["-O0", "-O1", "-O2", "-O3"]
assert complete("fritc", "fritc -Wno-tu") == ["-Wno-tune-miss"]
assert complete("fritc", "fritc ne") == ["nets", "net.onnx"]
assert complete("fritc", "fritc --header=net.t") == ["net.txt"]
