"""Decoders as ONNX models whose caches are inputs and outputs, in forms of exporters."""
import subprocess

import frit
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CAPACITY = 40
LOWEST = float(np.finfo(np.float32).min)


class Graph:
    """Builds a decoder node by node. A node is called by what it computes."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def __call__(self, op, *inputs, name=None, **attributes):
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def number(self, value):
        return self.weight(np.array(value, np.float32))


def llama(model, window=None, opset=18, written=None, **changes):
    """The model with past_key_values, attention_mask and position_ids. With `written`, an operator,
    caches of a fixed size into which it writes rows at cache_position. `changes` make errors."""
    g, size, heads, groups = Graph(), model.size, model.heads, model.groups

    def norm(x, name):
        mean = g("ReduceMean", g("Mul", x, x), g.ints(-1), keepdims=1)
        root = g("Sqrt", g("Add", mean, g.number(model.epsilon)))
        return g("Mul", g("Div", x, root), g.weight(model.tensor(name + ".weight")))

    def product(x, name):
        return g("MatMul", x, g.weight(model.tensor(name + ".weight").T))

    def split(x, count):
        x = g("Reshape", x, g.ints(0, 0, count, size))
        return g("Transpose", x, perm=[0, 2, 1, 3])

    def rotate(x, cos, sin):
        a = g("Slice", x, g.ints(0), g.ints(size // 2), g.ints(3))
        b = g("Slice", x, g.ints(size // 2), g.ints(size), g.ints(3))
        turned = g("Concat", g("Neg", b), a, axis=-1)
        return g("Add", g("Mul", x, cos), g("Mul", turned, sin))

    embedding = g.weight(model.tensor("embed_tokens.weight"))
    x = g("Gather", embedding, "input_ids", axis=0)
    angles = np.arange(64)[:, None] * 1e4 ** -(np.arange(0, size, 2) / size)
    tables = [g.weight(f(np.concatenate([angles, angles], 1)).astype(np.float32))
              for f in (np.cos, np.sin)]
    cos, sin = (g("Unsqueeze", g("Gather", t, "position_ids", axis=0), g.ints(1)) for t in tables)
    # The causal mask follows from shapes: query i is key past + i.
    past = g("Gather", g("Shape", "past_key_values.0.key"), g.ints(2), axis=0)
    count = g("Gather", g("Shape", "input_ids"), g.ints(1), axis=0)
    total = past if written else g("Add", past, count)
    keys = g("Range", g.weight(np.int64(0)), g("Squeeze", total), g.weight(np.int64(1)))
    rows = g("Range", g.weight(np.int64(0)), g("Squeeze", count), g.weight(np.int64(1)))
    own = g("Unsqueeze", "cache_position" if written else g("Add", rows, past), g.ints(1))
    seen = g("LessOrEqual", g("Unsqueeze", keys, g.ints(0)), own)
    if window:
        near = g("Greater", keys, g("Sub", own, g.ints(window)))
        seen = g("And", seen, near)
    if written != "ScatterND":
        given = g("Cast", "attention_mask", to=TensorProto.BOOL)
        seen = g("And", seen, g("Unsqueeze", given, g.ints(1, 2)))
    bias = g("Where", seen, g.number(0), g.number(LOWEST))
    presents = []
    for i in range(model.layers):
        at = f"layers.{i}."
        y = norm(x, at + "input_layernorm")
        q = rotate(split(product(y, at + "self_attn.q_proj"), heads), cos, sin)
        k = rotate(split(product(y, at + "self_attn.k_proj"), groups), cos, sin)
        v = split(product(y, at + "self_attn.v_proj"), groups)
        both = []
        for what, new in (("key", k), ("value", v)):
            name, entries = f"present.{i}.{what}", f"past_key_values.{i}.{what}"
            if written == "ScatterND":
                first = [g("Transpose", each, perm=[2, 0, 1, 3]) for each in (entries, new)]
                places = g("Unsqueeze", "cache_position", g.ints(1))
                whole = g("Transpose", g("ScatterND", first[0], places, first[1]),
                          perm=[1, 2, 0, 3], name=name)
            elif written:
                places = g("Unsqueeze", "cache_position", g.ints(0, 1, 3))
                whole = g("ScatterElements", entries, g("Expand", places, g("Shape", new)), new,
                          axis=2, name=name)
            else:
                whole = g("Concat", entries, new, axis=-2, name=name)
            presents.append(whole)
            apart = g("Unsqueeze", whole, g.ints(2))
            shape = g("Concat", g.ints(*([1] * 2), heads // groups, 1, 1), axis=0)
            apart = g("Expand", apart, shape)
            shape = g("Concat", g.ints(0, heads), total, g.ints(size), axis=0)
            both.append(g("Reshape", apart, shape))
        scores = g("MatMul", q, g("Transpose", both[0], perm=[0, 1, 3, 2]))
        scores = g("Add", g("Mul", scores, g.number(model.scale)), bias)
        y = g("MatMul", g("Softmax", scores, axis=-1), both[1])
        y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, heads * size))
        x = g("Add", x, product(y, at + "self_attn.o_proj"))
        y = norm(x, at + "post_attention_layernorm")
        gate = product(y, at + "mlp.gate_proj")
        y = g("Mul", g("Mul", gate, g("Sigmoid", gate)), product(y, at + "mlp.up_proj"))
        x = g("Add", x, product(y, at + "mlp.down_proj"))
    g("MatMul", norm(x, "norm"), g.weight(model.tensors["lm_head.weight"].T), name="logits")
    past_shape = ["batch", groups, "past", size]
    inputs = {"input_ids": (TensorProto.INT64, ["batch", "sequence"]),
              "attention_mask": (TensorProto.INT64, ["batch", "past + sequence"]),
              "position_ids": (TensorProto.INT64, ["batch", "sequence"])}
    for present in presents:
        name = present.replace("present", "past_key_values")
        inputs[name] = (TensorProto.FLOAT, past_shape)
    outputs = {"logits": ["batch", "sequence", 61]}
    outputs |= {p: ["batch", groups, "past + sequence", size] for p in presents}
    if written:
        inputs["cache_position"] = (TensorProto.INT64, ["sequence"])
        inputs["attention_mask"] = (TensorProto.INT64, [1, CAPACITY])
        for present in presents:
            inputs[present.replace("present", "past_key_values")] = (
                TensorProto.FLOAT, [1, groups, CAPACITY, size])
            outputs[present] = [1, groups, CAPACITY, size]
    if written == "ScatterND":
        inputs.pop("attention_mask")
    changes.get("change", lambda *all: None)(g, inputs, outputs)
    graph = helper.make_graph(
        g.nodes, "decoder", [helper.make_tensor_value_info(n, *i) for n, i in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        g.weights)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])


def write(path, *arguments, **switches):
    onnx.save(llama(*arguments, **switches), path)
    return path


def compile(path, *options, context=CAPACITY):
    artifact = path.with_suffix(".so")
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={context}",
                    "-fshape=chunk=1,8", *options, "-o", artifact], check=True)
    return frit.load(artifact, device="cpu", threads=1)


def from_sizes(g, inputs, outputs):
    """Positions follow from the size of a cache."""
    inputs.pop("position_ids")
    past = g("Squeeze", g("Gather", g("Shape", "past_key_values.1.value"), g.ints(2), axis=0))
    count = g("Squeeze", g("Gather", g("Shape", "input_ids"), g.ints(1), axis=0))
    places = g("Range", past, g("Add", past, count), g.weight(np.int64(1)))
    g("Unsqueeze", places, g.ints(0), name="position_ids")
    g.nodes[:] = g.nodes[-9:] + g.nodes[:-9]


def computed(form, size, g, inputs, outputs):
    """Angles are positions, which follow from the size of a cache, and frequencies."""
    from_sizes(g, inputs, outputs)
    steps = 1e4 ** -(np.arange(0, size, 2) / size)
    before = list(g.nodes)
    number = g("Cast", "position_ids", to=TensorProto.FLOAT)
    if form == "MatMul":
        frequencies = g.weight(steps.astype(np.float32)[None, :, None])
        half = g("Transpose", g("MatMul", frequencies, g("Unsqueeze", number, g.ints(1))),
                 perm=[0, 2, 1])
    elif form == "Einsum":
        half = g("Einsum", number, g.weight(steps.astype(np.float32)), equation="bi,j->bij")
    else:
        factor = steps if form == "Mul" else 1 / steps
        half = g(form, g("Unsqueeze", number, g.ints(2)), g.weight(factor.astype(np.float32)))
    angles = g("Concat", half, half, axis=-1)
    tables = [n for n in before if n.op_type == "Gather" and "position_ids" in n.input]
    for turn, table in zip(("Cos", "Sin"), tables):
        g(turn, angles, name=table.output[0])
    first = next(i for i, n in enumerate(before) if n.output[0] == "position_ids") + 1
    g.nodes[:] = [*before[:first], *g.nodes[len(before):],
                  *(n for n in before[first:] if n not in tables)]


def counted(g, inputs, outputs):
    """Positions count the tokens that are no padding, as M2M100's: rows of tables from 2 on."""
    from_sizes(g, inputs, outputs)
    padding, count = g.weight(np.int64(1)), len(g.nodes)
    # No token is the padding.
    real = g("Cast", g("Not", g("Equal", "input_ids", g.weight(np.int64(61)))), to=TensorProto.INT64)
    places = next(n for n in g.nodes if n.op_type == "Range" and "position_ids" in
                  next(m for m in g.nodes if n.output[0] in m.input).output)
    rows = g("Add", g("CumSum", real, g.weight(np.int64(1))), places.input[0])
    rows = g("Add", g("Mul", rows, real), padding)
    for node in g.nodes[:count]:
        if node.op_type == "Gather" and "position_ids" in node.input:
            table = next(w for w in g.weights if w.name == node.input[0])
            longer = np.pad(numpy_helper.to_array(table), [(2, 0), (0, 0)])
            node.input[:] = [g.weight(longer), rows]
    first = next(i for i, n in enumerate(g.nodes) if n.output[0] == "position_ids") + 1
    g.nodes[:] = [*g.nodes[:first], *g.nodes[count:], *g.nodes[first:count]]


def without_mask(g, inputs, outputs):
    """No mask of keys: all entries of the caches count."""
    inputs.pop("attention_mask")
    # seen = And(seen, given) becomes seen.
    cast = next(n for n in g.nodes if n.op_type == "Cast" and "attention_mask" in n.input)
    both = next(n for n in g.nodes if n.op_type == "And" and
                any(cast.output[0] in m.input and m.output[0] in n.input for m in g.nodes))
    kept = both.input[0]
    for node in g.nodes:
        node.input[:] = [kept if n == both.output[0] else n for n in node.input]
    spread = next(n for n in g.nodes if cast.output[0] in n.input)
    for node in (cast, both, spread):
        g.nodes.remove(node)


def pruned(g, inputs, outputs):
    """The head reads the last token alone."""
    head = g.nodes[-1]
    row = g("Gather", head.input[0], g("Squeeze", g.ints(-1)), axis=1)
    g("MatMul", g("Unsqueeze", row, g.ints(1)), head.input[1], name="logits")
    g.nodes.remove(head)
    outputs["logits"] = ["batch", 1, 61]
