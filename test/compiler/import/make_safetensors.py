"""Writes a .safetensors file in which every tensor's description is wrong."""
import json
import struct
import sys

tensors = {
    "type": dict(dtype="C64", shape=[4], data_offsets=[0, 2]),
    "place": dict(dtype="F32", shape=[100], data_offsets=[0, 400]),
    "size": dict(dtype="F32", shape=[3], data_offsets=[0, 16]),
    "none": 7,
    "huge": dict(dtype="F32", shape=[1 << 40, 1 << 40], data_offsets=[0, 16]),
}
header = json.dumps(tensors).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + bytes(16))
