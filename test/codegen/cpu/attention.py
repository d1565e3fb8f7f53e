"""Attention to states on the CPU target, beside NumPy: attention.py WORK"""
import itertools
import json
import sys
from pathlib import Path

import frit
import numpy as np
from programs import NEEDS, TYPES, run

work = Path(sys.argv[1])
TOLERANCE = {"f32": 1e-6, "f16": 1e-3, "bf16": 8e-3}


def build(arch, shape, keys, element, moved):
    """Compiles an attention whose keys and values are states, set in each call; `moved`: queries
    and result with positions before heads."""
    batch, heads, groups, queries, size, value_size = shape
    order = {"perm": [0, 2, 1, 3]}
    q = [batch, queries, heads, size] if moved else [batch, heads, queries, size]
    caches = {"k": [batch, groups, keys, size], "v": [batch, groups, keys, value_size]}
    nodes = [{"op": "update", "inputs": [name, f"new_{name}", "at"], "outputs": [f"{name}_next"],
              "attributes": {"axis": 2}} for name in caches]
    nodes += [{"op": "transpose", "inputs": ["q"], "outputs": ["p"], "attributes": order}] * moved
    nodes += [{"op": "attention", "inputs": ["p" if moved else "q", "k_next", "v_next", "ranges"],
               "outputs": ["x" if moved else "y"], "attributes": {"scale": 0.3}}]
    nodes += [{"op": "transpose", "inputs": ["x"], "outputs": ["y"], "attributes": order}] * moved
    inputs = [("q", element, q), ("ranges", "i32", [batch, 1, queries, 2]), ("at", "i32", [batch])]
    for name, own in caches.items():
        inputs += [(name, element, own), (f"new_{name}", element, own)]
    (work / "m.json").write_text(json.dumps({
        "frit": 1, "inputs": [dict(zip(("name", "type", "shape"), one)) for one in inputs],
        "nodes": nodes, "outputs": ["y", "k_next", "v_next"]}))
    command = ["fritc", work / "m.json", f"-march={arch}", "-fstate=k:k_next", "-fstate=v:v_next"]
    fused = run(*command, "--emit=fused", "-o", "-")
    assert fused.count("#cpu.ranged_attention") == 1 and "#cpu.gemm" not in fused, fused
    run(*command, "-o", work / "m.so")
    return frit.load(work / "m.so", device="cpu", threads=2)


def attend(arch, q, k, v, ranges, element="f32", moved=False):
    (batch, heads, queries, size), (_, groups, keys, _) = q.shape, k.shape
    model = build(arch, (batch, heads, groups, queries, size, v.shape[3]), keys, element, moved)
    given = q.transpose(0, 2, 1, 3) if moved else q
    given, k, v, ranges = (np.ascontiguousarray(x) for x in (given, k, v, ranges))
    y = model(q=given, new_k=k, new_v=v, ranges=ranges, at=np.zeros(batch, np.int32))
    y = np.asarray(y["y"] if isinstance(y, dict) else y)
    if y.dtype.itemsize == 2:
        y = y.view(TYPES[element])
    return y.transpose(0, 2, 1, 3) if moved else y


def wanted(q, k, v, ranges):
    q, k, v = (np.asarray(x, "f8") for x in (q, k, v))
    share = q.shape[1] // k.shape[1]
    scores = np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, share, 1)) * float(np.float32(0.3))
    places = np.arange(k.shape[2])
    seen = (places >= ranges[..., :1]) & (places < ranges[..., 1:])
    scores = np.where(seen, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", powers / np.where(total, total, 1), np.repeat(v, share, 1))


def check(arch, shape, keys, ends, element="f32", moved=False):
    batch, heads, groups, queries, size, value_size = shape
    rng = np.random.default_rng(keys)
    draw = lambda *shape: rng.standard_normal(shape).astype(TYPES[element])
    q, k = draw(batch, heads, queries, size), draw(batch, groups, keys, size)
    v = draw(batch, groups, keys, value_size)
    ranges = np.array([[[ends(b, i) for i in range(queries)]] for b in range(batch)], np.int32)
    y = attend(arch, q, k, v, ranges, element, moved)
    want = wanted(q, k, v, ranges)
    off = np.linalg.norm(np.asarray(y, "f8") - want) / np.linalg.norm(want)
    assert off < TOLERANCE[element], (arch, shape, keys, element, off)
    return 1


def check_bits(arch):
    """A query has the same result alone, and with a state of another capacity."""
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((1, heads, rows, 64)).astype("f4")
               for heads, rows in ((6, 37), (2, 150), (2, 150)))
    ranges = np.array([[[[max(0, i - 20), i + 60] for i in range(37)]]], np.int32)
    full = attend(arch, q, k, v, ranges)
    short = attend(arch, q, k[:, :, :97], v[:, :, :97], ranges)
    assert (short == full).all()
    for i in (0, 21, 36):
        alone = attend(arch, q[:, :, i:i + 1], k, v, ranges[:, :, i:i + 1])
        assert (alone == full[:, :, i:i + 1]).all(), i
    return 2


flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n")[0].split()
for arch, needs in NEEDS.items():
    if not set(needs) <= set(flags):
        continue
    causal = lambda b, i: (0, 5 + 3 * b + i)
    count = check_bits(arch)
    for element, moved in itertools.product(TYPES, (False, True)):
        count += check(arch, (2, 6, 2, 3, 64, 32), 50, causal, element, moved)
    # Heads that share all keys, rows that are no whole tile, sizes of few lanes.
    count += check(arch, (1, 7, 1, 1, 12, 20), 33, causal)
    count += check(arch, (1, 4, 4, 53, 40, 40), 70, causal)
    # A window, ranges of nothing, ranges beyond the keys.
    count += check(arch, (1, 2, 1, 90, 16, 16), 100, lambda b, i: (max(0, i - 8), i + 1))
    count += check(arch, (2, 2, 1, 9, 16, 16), 20, lambda b, i: (4 * b, 4 * b + i // 2))
    count += check(arch, (1, 2, 1, 9, 16, 16), 20, lambda b, i: (-3, 19 + i))
    print(f"{arch}: {count} attentions agree")
