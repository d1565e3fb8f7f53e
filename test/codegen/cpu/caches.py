"""Attention to states with masks, with capped scores, and of codes on the CPU target, beside
NumPy: caches.py WORK"""
import json
import sys
from pathlib import Path

import frit
import ml_dtypes
import numpy as np
from programs import NEEDS, run
from safetensors.numpy import save_file

work = Path(sys.argv[1])


def build(arch, inputs, nodes, states):
    """Compiles an attention of states that begin anew in each call, which it returns too."""
    (work / "m.json").write_text(json.dumps({
        "frit": 1, "inputs": [dict(zip(("name", "type", "shape"), one)) for one in inputs],
        "weights": "w.safetensors", "nodes": nodes,
        "outputs": ["y"] + [f"{name}_next" for name in states]}))
    numbers = {"never": -np.inf, "middle": 128, "scale": 0.3, "cap": 5}
    save_file({name: np.array([value], "f4") for name, value in numbers.items()},
              work / "w.safetensors")
    command = ["fritc", work / "m.json", f"-march={arch}"]
    command += [f"-fstate={name}:{name}_next" for name in states]
    fused = run(*command, "--emit=fused", "-o", "-")
    assert fused.count("#cpu.ranged_attention") == 1 and "#cpu.gemm" not in fused, fused
    run(*command, "-o", work / "m.so")
    return frit.load(work / "m.so", device="cpu", threads=2), fused


def update(name):
    return {"op": "update", "inputs": [name, f"new_{name}", "at"], "outputs": [f"{name}_next"],
            "attributes": {"axis": 2}}


def wanted(q, k, v, added, cap=None):
    q, k, v = (np.asarray(x, "f8") for x in (q, k, v))
    share = q.shape[1] // k.shape[1]
    scores = np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, share, 1)) * float(np.float32(0.3))
    scores = (cap * np.tanh(scores / cap) if cap else scores) + added
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", powers / np.where(total, total, 1), np.repeat(v, share, 1))


def compare(y, want, what):
    y = np.asarray(y["y"] if isinstance(y, dict) else y, "f8")
    off = np.linalg.norm(y - want) / np.linalg.norm(want)
    assert off < 1e-6, (what, off)


def check_mask(arch, shape, keys, shown):
    """A mask is read from the first key to the last that it shows, whatever the others hold."""
    batch, heads, groups, queries, size, value_size = shape
    inputs = [("q", "f32", [batch, heads, queries, size]), ("at", "i32", [batch]),
              ("shown", "i1", [batch, 1, queries, keys]),
              ("bias", "f32", [1, heads, queries, keys])]
    for name, last in ("k", size), ("v", value_size):
        inputs += [(x, "f32", [batch, groups, keys, last]) for x in (name, f"new_{name}")]
    nodes = [update("k"), update("v"),
             {"op": "where", "inputs": ["shown", "bias", "never"], "outputs": ["mask"]},
             {"op": "attention", "inputs": ["q", "k_next", "v_next", "mask"], "outputs": ["y"],
              "attributes": {"scale": 0.3}}]
    model, _ = build(arch, inputs, nodes, ["k", "v"])
    rng = np.random.default_rng(keys)
    given = {name: rng.standard_normal(own).astype("f4") for name, kind, own in inputs
             if kind == "f32" and name not in ("k", "v")}
    shown = np.array([[[[shown(b, i, j) for j in range(keys)] for i in range(queries)]]
                      for b in range(batch)])
    for b, some in enumerate(shown.any((1, 2))):
        first, last = np.flatnonzero(some)[[0, -1]]
        for name in "new_k", "new_v":
            given[name][b, :, :first] = given[name][b, :, last + 1:] = np.nan
    y = model(**given, shown=shown, at=np.zeros(batch, np.int32))
    added = np.where(shown, given["bias"].astype("f8"), -np.inf)
    want = wanted(given["q"], *(np.nan_to_num(given[x]) for x in ("new_k", "new_v")), added)
    compare(y, want, (arch, shape, keys))


def check_cap(arch, shape, keys, shown):
    """Scores are capped, and a mask of bools says which keys are seen."""
    batch, share, groups, queries, size, value_size = shape
    rows = share * queries
    inputs = [("q", "f32", [batch, groups, rows, size]), ("at", "i32", [batch]),
              ("shown", "i1", [batch, 1, 1, queries, keys])]
    for name, last in ("k", size), ("v", value_size):
        inputs += [(x, "f32", [batch, groups, keys, last]) for x in (name, f"new_{name}")]
    nodes = [update("k"), update("v")]

    def add(op, given, to, **attributes):
        nodes.append({"op": op, "inputs": given, "outputs": [to], "attributes": attributes})

    add("matmul", ["q", "k_next"], "dots", transpose_b=True)
    add("mul", ["dots", "scale"], "scaled")
    add("div", ["scaled", "cap"], "units")
    add("tanh", ["units"], "bent")
    add("mul", ["bent", "cap"], "capped")
    add("reshape", ["capped"], "scores", shape=[batch, groups, share, queries, keys])
    add("where", ["shown", "scores", "never"], "masked")
    add("softmax", ["masked"], "weights", axis=4)
    add("reshape", ["weights"], "flat", shape=[batch, groups, rows, keys])
    add("matmul", ["flat", "v_next"], "y")
    model, _ = build(arch, inputs, nodes, ["k", "v"])
    rng = np.random.default_rng(keys)
    given = {name: rng.standard_normal(own).astype("f4") * (3 if name == "q" else 1)
             for name, kind, own in inputs if kind == "f32" and name not in ("k", "v")}
    shown = np.array([[[[[shown(b, i, j) for j in range(keys)] for i in range(queries)]]]
                      for b in range(batch)])
    y = model(**given, shown=shown, at=np.zeros(batch, np.int32))
    q = given["q"].reshape(batch, groups * share, queries, size)
    want = wanted(q, given["new_k"], given["new_v"], np.where(shown[:, 0], 0, -np.inf), 5)
    compare(y, want.reshape(batch, groups, rows, value_size), (arch, shape, keys))


def check_codes(arch, code, shape, keys, coded="kv"):
    """Keys, values or both are codes of 8 bits, with a factor for each row."""
    batch, heads, groups, queries, size, value_size = shape
    inputs = [("q", "f32", [batch, heads, queries, size]), ("at", "i32", [batch]),
              ("ranges", "i32", [batch, 1, queries, 2])]
    nodes, given, numbers = [], {}, {}
    rng = np.random.default_rng(keys)
    states = []
    for name, last in ("k", size), ("v", value_size):
        parts = {name: ("ui8" if name in coded else "f32", [batch, groups, keys, last])}
        if name in coded:
            parts[name + "s"] = ("f32", [batch, groups, keys, 1])
        for part, (kind, own) in parts.items():
            inputs += [(x, kind, own) for x in (part, f"new_{part}")]
            nodes.append(update(part))
            draw = (rng.integers(0, 120, own).astype("u1") if kind == "ui8" else
                    rng.standard_normal(own).astype("f4"))
            given[f"new_{part}"] = draw
        states += parts
        numbers[name] = given[f"new_{name}"]
        if name not in coded:
            nodes.append({"op": "reshape", "inputs": [f"{name}_next"], "outputs": [name + "n"],
                          "attributes": {"shape": [batch, groups, keys, last]}})
            continue
        if code == "int8":
            nodes += [{"op": "cast", "inputs": [f"{name}_next"], "outputs": [name + "c"],
                       "attributes": {"to": "f32"}},
                      {"op": "sub", "inputs": [name + "c", "middle"], "outputs": [name + "u"]}]
            units = numbers[name].astype("f8") - 128
        else:
            nodes += [{"op": "bit_cast", "inputs": [f"{name}_next"], "outputs": [name + "c"],
                       "attributes": {"to": "f8E4M3FN"}},
                      {"op": "cast", "inputs": [name + "c"], "outputs": [name + "u"],
                       "attributes": {"to": "f32"}}]
            units = numbers[name].view(ml_dtypes.float8_e4m3fn).astype("f8")
        nodes.append({"op": "mul", "inputs": [name + "u", f"{name}s_next"],
                      "outputs": [name + "n"]})
        numbers[name] = units * given[f"new_{name}s"]
    nodes.append({"op": "attention", "inputs": ["q", "kn", "vn", "ranges"], "outputs": ["y"],
                  "attributes": {"scale": 0.3}})
    model, fused = build(arch, inputs, nodes, states)
    # The attention's kernel reads the codes.
    kernel = fused[fused.index("#cpu.ranged_attention"):].split("->")[0]
    assert kernel.count("xui8>") == len(coded), kernel
    given["q"] = rng.standard_normal((batch, heads, queries, size)).astype("f4") / 50
    ends = [[[[0, keys - queries + 1 + i - b] for i in range(queries)]] for b in range(batch)]
    given["ranges"] = np.array(ends, np.int32)
    y = model(**given, at=np.zeros(batch, np.int32))
    places = np.arange(keys)
    seen = (places >= given["ranges"][..., :1]) & (places < given["ranges"][..., 1:])
    compare(y, wanted(given["q"], numbers["k"], numbers["v"], np.where(seen, 0, -np.inf)),
            (arch, code, shape, keys))


flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n")[0].split()
for arch, needs in NEEDS.items():
    if not set(needs) <= set(flags):
        continue
    check_mask(arch, (2, 6, 2, 3, 64, 32), 50, lambda b, i, j: j < 5 + 3 * b + i)
    check_mask(arch, (1, 4, 4, 37, 12, 20), 96, lambda b, i, j: i <= j < i + 40)
    # Holes, and a query that sees nothing.
    check_mask(arch, (1, 2, 1, 9, 16, 16), 21, lambda b, i, j: i != 4 and j % 3 == 1 and j < 17)
    check_cap(arch, (2, 3, 2, 3, 64, 32), 50, lambda b, i, j: j < 5 + 3 * b + i)
    check_cap(arch, (1, 1, 4, 37, 12, 20), 96, lambda b, i, j: i <= j < i + 40 and j % 7 != 3)
    check_cap(arch, (1, 2, 2, 1, 16, 16), 21, lambda b, i, j: j < 9)
    for code in "int8", "e4m3":
        check_codes(arch, code, (1, 6, 2, 3, 64, 64), 150)
        check_codes(arch, code, (2, 4, 4, 37, 12, 20), 70)
    check_codes(arch, "int8", (1, 4, 2, 1, 32, 32), 65, "k")
    check_codes(arch, "int8", (1, 4, 2, 1, 32, 32), 64, "v")
    print(f"{arch}: masks, caps and codes agree")
