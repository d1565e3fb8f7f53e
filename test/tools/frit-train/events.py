"""Compares TensorBoard's event files with the log in JSON: events.py FOLDER

Reads TFRecords and protobuf by their definitions. The checksum is the remainder
of a division bit by bit.
"""
import json
import math
import struct
import sys
from pathlib import Path


def masked(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(raw):
    while raw:
        length, crc = struct.unpack("<QI", raw[:12])
        assert crc == masked(raw[:8])
        data, (crc,), raw = raw[12:12 + length], struct.unpack("<I", raw[12 + length:16 + length]), raw[16 + length:]
        assert crc == masked(data)
        yield data


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            length, at = {1: (8, at), 5: (4, at), 2: None}[key & 7] or varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value


assert masked(b"123456789") == (0xe3069283 >> 15 | 0xe3069283 << 17) + 0xa282ead8 & 0xffffffff
folder = Path(sys.argv[1])
lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
expected = [(line.pop("step"), {n: v for n, v in line.items() if isinstance(v, (int, float))})
            for line in lines if len(line) > 2]
found, files = [], sorted((folder / "events").iterdir())
for path in files:
    assert "tfevents" in path.name, path
    first, *rest = (list(fields(record)) for record in records(path.read_bytes()))
    assert dict(first)[3] == b"brain.Event:2", first
    for event in map(dict, rest):
        assert struct.unpack("<d", event[1])[0] > 1e9
        values = (dict(fields(value)) for _, value in fields(event[5]))
        found.append((event[2], {v[1].decode(): struct.unpack("<f", v[2])[0] if 2 in v else 0. for v in values}))
assert len(found) == len(expected), (len(found), len(expected))
for (step, values), (other, numbers) in zip(found, expected):
    assert step == other and list(values) == list(numbers), (values, numbers)
    assert all(math.isclose(values[n], numbers[n], rel_tol=1e-6) for n in numbers), (values, numbers)
print(f"{len(files)} files, {len(found)} events, {sum(len(v) for _, v in found)} scalars")
