"""Runs a model with valid and damaged weight files.

    bad_weights.py FILE.safetensors FOLDER

FOLDER has the model, m.so; copies of its weights are made there. For
each, prints frit-run's exit status and message.
"""
import json
import pathlib
import struct
import subprocess
import sys

GOOD, FOLDER = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2])
MODELS = pathlib.Path(__file__).parents[2] / "models" / "tiny"
LENGTH = struct.unpack("<Q", GOOD[:8])[0]
HEADER, DATA = json.loads(GOOD[8:8 + LENGTH]), GOOD[8 + LENGTH:]
NAMES = [name for name in HEADER if name != "__metadata__"]
LARGE = max(NAMES, key=lambda name: HEADER[name]["data_offsets"][1]
            - HEADER[name]["data_offsets"][0])


def run(label, content):
    file = FOLDER / "m.safetensors"
    file.write_bytes(content)
    done = subprocess.run(
        ["frit-run", FOLDER / "m.so", f"--input=@{MODELS / 'resnet50.image.npy'}",
         f"--compare={MODELS / 'resnet50.npz'}"], capture_output=True, text=True)
    message = done.stderr.strip().replace("m.safetensors", f"{label}.safetensors")
    assert done.returncode in (0, 1), (label, done)
    assert message.count("\n") == 0, message
    print(f"{label}: {done.returncode} {message}")


def file(header, data=DATA):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def changed(name=LARGE, **entries):
    return file(HEADER | {name: HEADER[name] | entries})


header, data = {}, b""
for name in reversed(NAMES):
    start, end = HEADER[name]["data_offsets"]
    header[name] = HEADER[name] | {"data_offsets": [len(data), len(data) + end - start]}
    data += DATA[start:end]
run("reordered", file(header, data))
run("doubled", file(HEADER, DATA[::-1]))
run("empty", b"")
run("short", GOOD[:7])
run("long header", struct.pack("<Q", 1 << 60) + GOOD[8:])
run("cut", GOOD[:-1])
run("no json", file(b"weights"))
run("deep", file(b'{"a":' * 100000))
run("backwards", changed(data_offsets=[8, 4]))
run("overflow", changed(shape=[1 << 70]))
run("trailing", file(json.dumps(HEADER).encode() + b"{}"))
entry = json.dumps(HEADER[LARGE])
run("twice", file(f'{{"a": {entry}, "a": {entry}}}'.encode()))
run("behind", GOOD + b"{}")
run("hole", file({name: HEADER[name] for name in NAMES if name != LARGE}))
start, end = HEADER[LARGE]["data_offsets"]
run("overlap", changed(data_offsets=[start - 4, end - 4] if start else [4, end + 4]))
run("missing", file({name if name != LARGE else "other": HEADER[name] for name in NAMES}))
run("type", changed(dtype="F16"))
run("shape", changed(shape=[1, *HEADER[LARGE]["shape"]]))
rest = {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}
run("bytes", file(HEADER | {"rest": rest, LARGE: HEADER[LARGE] | {"data_offsets": [start, start]}}))
escaped = json.dumps(HEADER, indent=1)
for letter in "eo_.":
    escaped = escaped.replace(letter, f"\\u{ord(letter):04x}")
run("escaped", file(escaped.encode()))
