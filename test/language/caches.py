"""Operators of ONNX that have caches: caches.py WORK

GroupQueryAttention of ONNX Runtime and TensorScatter with Attention: several calls over caches that
stay on the device, against ONNX Runtime, which gets its caches with each call.
"""
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

EMULATOR = Path(__file__).resolve().parents[1] / "emulator" / "model.sh"
work = Path(sys.argv[1])
work.mkdir(parents=True, exist_ok=True)
STATES = ["-fstate=past_key:present_key", "-fstate=past_value:present_value"]
FLOAT, I32, I64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


def save(name, nodes, inputs, outputs, weights=(), opset=21):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [onnx.numpy_helper.from_array(w, n) for n, w in dict(weights).items()])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    path = work / f"{name}.onnx"
    onnx.save(model, path)
    return path


def compile(path, *options):
    artifact = path.with_suffix(".so")
    subprocess.run(["fritc", path, "-march=x86-64-v3", *STATES, *options, "-o", artifact],
                   check=True)
    return frit.load(artifact, device="cpu", threads=1)


def emulate(path, **constants):
    """Compares one call on the emulator with the CPU."""
    fixed = []
    for name, value in constants.items():
        np.save(path.with_suffix(f".{name}.npy"), np.array(value, np.int32))
        fixed.append(f"-fconst-input={name}=@{path.with_suffix(f'.{name}.npy')}")
    fritc = subprocess.run(["which", "fritc"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["bash", EMULATOR, Path(fritc).parent, sys.executable, path, "1e-3", *STATES,
                    *fixed], check=True, stdout=subprocess.DEVNULL)


def group_query(name, calls, *, tokens, batch=1, capacity=12, heads=4, groups=2, size=16,
                packed=False, half=0, positions=False, bias=False, sink=False, emulated=False,
                **attributes):
    """Compares calls; each has the numbers of entries in use after it."""
    rng = np.random.default_rng(len(name))
    cache = [batch, groups, capacity, size]
    width = (heads + 2 * groups if packed else heads) * size
    inputs = [("query", FLOAT, [batch, tokens, width])]
    if not packed:
        inputs += [(n, FLOAT, [batch, tokens, groups * size]) for n in ("key", "value")]
    inputs += [("past_key", FLOAT, cache), ("past_value", FLOAT, cache),
               ("seqlens_k", I32, [batch]), ("total", I32, [1])]
    weights = {}
    names = ["query", "" if packed else "key", "" if packed else "value", "past_key",
             "past_value", "seqlens_k", "total", *[""] * 5]
    if half:
        angles = np.outer(np.arange(capacity), 0.7 ** np.arange(half)).astype(np.float32)
        weights = {"cos": np.cos(angles), "sin": np.sin(angles)}
        names[7:9] = ["cos", "sin"]
    if positions:
        inputs.append(("positions", I64, [batch, tokens]))
        names[9] = "positions"
    if bias:
        inputs.append(("bias", FLOAT, [1, heads, tokens, "total"]))
        names[10] = "bias"
    if sink:
        inputs.append(("sink", FLOAT, [heads]))
        names[11] = "sink"
    while not names[-1]:
        names.pop()
    node = helper.make_node("GroupQueryAttention", names, ["y", "present_key", "present_value"],
                            domain="com.microsoft", num_heads=heads, kv_num_heads=groups,
                            do_rotary=bool(half), **attributes)
    path = save(name, [node], inputs,
                [("y", FLOAT, [batch, tokens, heads * size]), ("present_key", FLOAT, cache),
                 ("present_value", FLOAT, cache)], weights)
    session = onnxruntime.InferenceSession(path)
    module = compile(path, *[f"-fshape=total={capacity}"] * bias)
    keys = values = np.zeros(cache, np.float32)
    for number, (used, whole) in enumerate(calls):
        used = np.broadcast_to(np.int32(used), batch)
        given = {n: rng.standard_normal([capacity if size == "total" else size for size in s])
                 .astype(np.float32) for n, t, s in inputs if t == FLOAT}
        given |= {"past_key": keys, "past_value": values, "seqlens_k": used - 1,
                  "total": np.array([whole], np.int32)}
        before = np.where(whole == tokens, 0, used - tokens)
        if positions:
            given["positions"] = (before[:, None] + np.arange(tokens))[:, ::-1].astype(np.int64)
        if bias:
            # ONNX Runtime's bias has as many keys as there are.
            own = given | {"bias": given["bias"][..., :whole].copy()}
        else:
            own = given
        y, keys, values = session.run(None, own)
        got = module(**{n: v for n, v in given.items() if not n.startswith("past")})
        for b in range(batch):
            count = used[b] - before[b]  # rows that count
            assert np.allclose(got[b, :count], y[b, :count], atol=1e-5), (
                name, number, b, np.abs(got[b, :count] - y[b, :count]).max())
            for what, wanted in (("past_key", keys), ("past_value", values)):
                state = module.read_state(what)[what]
                assert np.allclose(state[b, :, :used[b]], wanted[b, :, :used[b]], atol=1e-6), name
        # What lies behind the entries in use is nobody's.
        keys, values = (np.array(x[:, :, :capacity]) for x in (keys, values))
    if emulated:
        emulate(path, seqlens_k=used - 1, total=[whole])
    print("ok", name)


ONE = [(1, 1), (2, 2), (3, 3), (7, 7), (12, 12)]
FEW = [(4, 4), (8, 8), (12, 12)]
group_query("gqa-one", ONE, tokens=1, emulated=True)
group_query("gqa-few", FEW, tokens=4)
group_query("gqa-prompts", [([4, 2, 3], 4)], tokens=4, batch=3)
group_query("gqa-lengths", [(1, 1), ([5, 2, 9], 9), ([6, 3, 10], 10)], tokens=1, batch=3, half=8)
group_query("gqa-packed", FEW, tokens=4, packed=True, half=8)
group_query("gqa-rotary", [([4, 3], 4)], tokens=4, batch=2, half=8, size=32)
group_query("gqa-interleaved", FEW, tokens=4, half=8, rotary_interleaved=1)
group_query("gqa-positions", [(8, 8), (12, 12)], tokens=4, half=8, positions=True)
group_query("gqa-window", FEW, tokens=4, local_window_size=3, scale=0.5, emulated=True)
group_query("gqa-window-one", ONE, tokens=1, local_window_size=1)
group_query("gqa-cap", FEW, tokens=4, softcap=0.8, local_window_size=5)
group_query("gqa-bias", FEW, tokens=4, bias=True, softcap=2.0)
group_query("gqa-sink", FEW, tokens=4, sink=True)
group_query("gqa-smooth", FEW, tokens=4, smooth_softmax=1)
group_query("gqa-equal-heads", FEW, tokens=4, groups=4)


def scatter(name, calls, *, tokens, batch=2, capacity=12, heads=4, groups=2, size=8, flat=False,
            **attributes):
    """Compares calls of opset 24: each has the entries in use before it."""
    rng = np.random.default_rng(5)
    cache = [batch, groups, capacity, size]
    rows = [batch, groups, tokens, size]
    query = [batch, tokens, heads * size] if flat else [batch, heads, tokens, size]
    nodes = [
        helper.make_node("TensorScatter", ["past_key", "key", "at"], ["present_key"], axis=2),
        helper.make_node("TensorScatter", ["past_value", "value", "at"], ["present_value"], axis=2),
        helper.make_node("Add", ["at", "tokens"], ["used"])]
    keys, values = "present_key", "present_value"
    if flat:  # caches are batch × entries × heads · size
        cache, rows = [batch, capacity, groups * size], [batch, tokens, groups * size]
        for node in nodes[:2]:
            node.attribute[0].i = 1
        attributes |= {"q_num_heads": heads, "kv_num_heads": groups}
    nodes.append(helper.make_node("Attention", ["query", keys, values, "", "", "", "used"], ["y"],
                                  **attributes))
    inputs = [("query", FLOAT, query), ("key", FLOAT, rows), ("value", FLOAT, rows),
              ("past_key", FLOAT, cache), ("past_value", FLOAT, cache), ("at", I64, [batch])]
    path = save(name, nodes, inputs, [("y", FLOAT, query), ("present_key", FLOAT, cache),
                                      ("present_value", FLOAT, cache)],
                {"tokens": np.array([tokens], np.int64)}, opset=24)
    module = compile(path)
    text = subprocess.run(["fritc", "--emit=nn", path, "-o", "-"], check=True, capture_output=True,
                          text=True).stdout
    # Nothing repeats keys, or computes scores of keys beyond the entries in use.
    assert "nn.update" in text and "nn.attention" in text and "nn.softmax" not in text
    k, v = (np.zeros((batch, groups, capacity, size), np.float32) for _ in "kv")
    for at in calls:
        at = np.broadcast_to(np.int64(at), batch).copy()
        given = {n: rng.standard_normal(s).astype(np.float32) for n, _, s in inputs[:3]}
        got = module(**given, at=at)
        q, new_k, new_v = (given[n].reshape(batch, tokens, -1, size).swapaxes(1, 2) if flat
                           else given[n] for n in ("query", "key", "value"))
        wanted = np.zeros((batch, heads, tokens, size), np.float32)
        for b in range(batch):
            k[b, :, at[b]:at[b] + tokens], v[b, :, at[b]:at[b] + tokens] = new_k[b], new_v[b]
            for h in range(heads):
                for i in range(tokens):
                    seen = slice(0, at[b] + (i + 1 if attributes.get("is_causal") else tokens))
                    scores = k[b, h * groups // heads, seen] @ q[b, h, i] / np.sqrt(size)
                    weights = np.exp(scores - scores.max())
                    wanted[b, h, i] = weights / weights.sum() @ v[b, h * groups // heads, seen]
        if flat:
            wanted = wanted.swapaxes(1, 2).reshape(query)
        assert np.allclose(got, wanted, atol=1e-5), (name, at, np.abs(got - wanted).max())
        state = module.read_state("past_key")["past_key"]
        assert np.array_equal(state, k.swapaxes(1, 2).reshape(cache) if flat else k), name
    emulate(path)
    print("ok", name)


scatter("scatter-one", [0, 1, [2, 5], [3, 11]], tokens=1)
scatter("scatter-causal", [0, 3, [6, 2], [9, 5]], tokens=3, is_causal=1)
scatter("scatter-flat", [0, [4, 1], [8, 3]], tokens=4, is_causal=1, flat=True)
