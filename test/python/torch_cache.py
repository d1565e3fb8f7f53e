"""Artifacts that torch.compile(backend="frit") keeps.

    torch_cache.py DEVICE
"""
import json
import tempfile
from pathlib import Path

import torch
from torch import nn

import frit
from torch_support import CACHE, DEVICE, compiled, images, run_tests, same, told


def test_keys():
    """What artifacts are kept by."""
    keys = set()

    def is_new(*options):
        key = frit._cache._key_of(b"model", options)
        keys_before = len(keys)
        keys.add(key)
        return len(keys) > keys_before

    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name)
                 for name in ("op.json", "op.cu", "op.c", "op.h", "keep", "all")}
        for path in files.values():
            path.write_text("1")
        files["op.json"].write_text(json.dumps(
            {"cuda": {"file": "op.cu"}, "host": {"file": "op.c"}}))
        files["op.cu"].write_text('#include <math.h>\n #include "op.h"\n')
        for named in (f"--custom-op={files['op.json']}",
                      f"-fkeep-fp32={files['keep']}",
                      f"-fconst-input=x=@{files['all']}"):
            assert is_new(named) and not is_new(named)
        for changed in files:
            with open(files[changed], "a") as file:
                file.write(" ")
            assert is_new(*(f"--custom-op={files['op.json']}",
                            f"-fkeep-fp32={files['keep']}",
                            f"-fconst-input=x=@{files['all']}")), changed
        # "native" is another processor elsewhere.
        machine = frit._cache._machine
        assert is_new("-march=native") and not is_new("-march=native")
        try:
            frit._cache._machine = lambda: ["another"]
            assert is_new("-march=native") and is_new("-march=x86-64")
        finally:
            frit._cache._machine = machine

        net, x = nn.Linear(16, 8).to(DEVICE).eval(), images(3, 16)
        errors = []
        for kept in "", "*\n":
            files["keep"].write_text(kept)
            fast = compiled(net, precision="fp16",
                            options=[f"-fkeep-fp32={files['keep']}"])
            with torch.no_grad():
                errors.append(float((fast(x) - net(x)).abs().max()))
        assert errors[1] < 1e-5 < errors[0], errors


def test_damaged():
    """Damaged artifacts are replaced."""
    before = {*CACHE.glob("*/graph.so")}
    net, x = nn.Linear(16, 24).to(DEVICE).eval(), images(3, 16)
    same(compiled(net), net, x)
    made, = {*CACHE.glob("*/graph.so")} - before
    whole = made.read_bytes()
    plan = whole.index(b"FRITPLAN")
    other_version = whole[:plan + 8] + bytes([1, 0, 0, 0]) + whole[plan + 12:]
    for damaged in b"", whole[:len(whole) // 2], b"no library" * 100, \
            other_version:
        made.unlink()
        made.write_bytes(damaged)
        assert told(lambda: same(compiled(net), net, x)) == []
        assert made.read_bytes() == whole


def test_damaged_constants():
    """Constants lie beside the artifact."""
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(16, 24)

        def forward(self, x):
            return self.fc(x) + torch.linspace(0, 1, 24).to(x)

    before = {*CACHE.glob("*/graph.safetensors")}
    net, x = Shifted().to(DEVICE).eval(), images(3, 16)
    same(compiled(net), net, x)
    beside, = {*CACHE.glob("*/graph.safetensors")} - before
    whole = beside.read_bytes()
    for damaged in None, b"", whole[:20], whole[:-1]:
        beside.unlink()
        if damaged is not None:
            beside.write_bytes(damaged)
        assert told(lambda: same(compiled(net), net, x)) == []
        assert beside.read_bytes() == whole


run_tests(globals())
