"""Writes .safetensors files in which tensors are described wrongly: w, place and none."""
import json
import pathlib
import struct
import sys

FILES = {
    "w": {
        "type": dict(dtype="C64", shape=[4], data_offsets=[0, 2]),
        "size": dict(dtype="F32", shape=[3], data_offsets=[2, 18]),
        "huge": dict(dtype="F32", shape=[1 << 40, 1 << 40], data_offsets=[18, 34]),
    },
    "place": {"place": dict(dtype="F32", shape=[100], data_offsets=[0, 400])},
    "none": {"none": dict(shape=[3])},
}
for name, tensors in FILES.items():
    header = json.dumps(tensors).encode()
    with open(pathlib.Path(sys.argv[1], name + ".safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + bytes(34))
