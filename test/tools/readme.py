"""Runs the commands in README.md and compiler/json/README.md.

    readme.py SOURCE BUILD FOLDER

The session's outputs must match; "…" matches anything.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

SOURCE, BUILD, FOLDER = map(pathlib.Path, sys.argv[1:4])
TEXT = "".join((SOURCE / folder / "README.md").read_text() for folder in (".", "compiler/json"))
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
os.chdir(FOLDER)
for name in ["test", "runtime"]:
    os.symlink(SOURCE / name, name)
os.mkdir("build")
os.symlink(BUILD, "build/dev")


def run(command):
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"$ {command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def block(language, start=""):
    """The first block in a language that begins with `start`."""
    return next(text for name, text in BLOCKS if name == language and text.startswith(start))


# The session.
for part in block("console").split("$ ")[1:]:
    command, _, expected = part.partition("\n")
    printed = run(command)
    pattern = ".*".join(map(re.escape, expected.rstrip("\n").split("…")))
    assert re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL), (command, printed)

# The commands of the table, with each of several values.
run("frit-run digits.so --output=@expected.npz")
commands = [span.replace("\\|", "|")
            for row in TEXT.splitlines() if row.startswith("| ")
            for span in re.findall(r"`((?:fritc|frit-run) [^`]*)`", row)]
assert len(commands) >= 5, commands
for command in commands:
    values = re.search(r"[\w]+(\|\w+)+", command)
    for value in values[0].split("|") if values else [""]:
        single = command.replace(values[0], value) if values else command
        assert run(single).strip(), f"{single} prints nothing"

# The program.
program = block("c")
pathlib.Path("app.c").write_text(program)
run(re.search(r"written by: (.*?) \*/", program)[1])
run(block("sh", "cc "))
assert run("./app").startswith("probability of a one: "), run("./app")

# The graph.
graph = block("json")
pathlib.Path("mlp.json").write_text(graph)
shape = [json.loads(graph)["inputs"][0]["shape"][1], 10]
count = 4 * shape[0] * shape[1]
header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, count]}}).encode()
pathlib.Path("mlp.safetensors").write_bytes(
    struct.pack("<Q", len(header)) + header + bytes(count))
run(block("", "fritc mlp.json").strip())
run("frit-run mlp.so")
