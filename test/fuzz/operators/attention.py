"""Attention and other parts of sequence models."""
import numpy as np
from onnx import TensorProto, helper

from graphs import BOOL, F32, I64, Graph

from .table import operator


def small(v):
    return np.all(abs(v.array) < 16)


@operator(weight=4)
def attention(g: Graph):
    batch, heads = g.integer(1, 3), g.integer(1, 4)
    shared = g.one_of(1, heads) if heads > 1 else 1
    queries, keys = g.one_of(1, 3, 5), g.one_of(1, 4, 7)
    depth, width = g.one_of(2, 4, 8), g.one_of(2, 4, 8)
    attributes = {}
    shapes = ([batch, heads, queries, depth], [batch, shared, keys, depth],
              [batch, shared, keys, width])
    if g.chance(0.3):  # heads side by side
        shapes = ([batch, queries, heads * depth],
                  [batch, keys, shared * depth], [batch, keys, shared * width])
        attributes.update(q_num_heads=heads, kv_num_heads=shared)
    q = g.pick(F32, lambda v: list(v.shape) == shapes[0] and small(v),
               lambda: g.draw(shapes[0]))
    operands = [q, *(g.given(g.draw(s)) for s in shapes[1:])]
    if g.chance(0.4):
        attributes["is_causal"] = 1
    if g.chance(0.4):
        attributes["scale"] = g.one_of(0.25, 1.0)
    if g.chance(0.2):
        attributes["softcap"] = 2.0
    if g.chance(0.5):
        shape = g.one_of([queries, keys], [1, 1, queries, keys],
                         [batch, heads, queries, keys])
        mask = g.draw(shape)
        if g.chance(0.4):
            mask = g.draw(shape, BOOL)
            mask[..., 0] = True  # a row of which nothing is left is no softmax
        operands.append(g.given(mask))
    elif "is_causal" not in attributes and len(shapes[0]) == 4 \
            and g.chance(0.3):
        past = g.integer(1, 4)
        operands += [None, g.given(g.draw([batch, shared, past, depth])),
                     g.given(g.draw([batch, shared, past, width]))]
        return g.add("Attention", operands, outputs=3, **attributes)
    return g.add("Attention", operands, **attributes)


@operator(weight=2)
def written_attention(g: Graph):
    """softmax(q · kᵀ · scale + mask) · v, node by node."""
    batch, heads = g.integer(1, 3), g.integer(1, 4)
    queries, keys, depth = g.one_of(1, 3, 8), g.one_of(1, 4, 8), g.one_of(4, 8)
    q = g.pick(F32, lambda v: v.shape == (batch, heads, queries, depth)
               and small(v), lambda: g.draw([batch, heads, queries, depth]))
    k = g.given(g.draw([batch, heads, keys, depth]))
    v = g.given(g.draw([batch, heads, keys, depth]))
    steps = [lambda: g.add("Transpose", [k], False, perm=[0, 1, 3, 2]),
             lambda: g.add("MatMul", [q, g.values[-1]]),
             lambda: g.add("Mul", [g.values[-1], g.constant(0.5, F32)])]
    if g.chance(0.5):
        mask = g.given(g.draw([batch, 1, queries, keys]))
        steps.append(lambda: g.add("Add", [g.values[-1], mask]))
    steps += [lambda: g.add("Softmax", [g.values[-1]], axis=-1),
              lambda: g.add("MatMul", [g.values[-1], v])]
    return all(step() for step in steps)


@operator()
def flex_attention(g: Graph):
    """Scores times a number by a subgraph."""
    batch, heads = g.integer(1, 3), g.integer(1, 3)
    queries, keys, depth = g.one_of(1, 3), g.one_of(1, 4), g.one_of(2, 4)
    q, k, v = (g.given(g.draw([batch, heads, n, depth]))
               for n in (queries, keys, keys))
    attributes = {}
    if g.chance(0.7):
        value = helper.make_tensor("half", TensorProto.FLOAT, [], [0.5])
        info = helper.make_tensor_value_info
        body = helper.make_graph(
            [helper.make_node("Constant", [], ["c"], value=value),
             helper.make_node("Mul", ["s", "c"], ["t"])], "score_mod",
            [info("s", 1, ["b", "h", "q", "k"])],
            [info("t", 1, ["b", "h", "q", "k"])])
        attributes["score_mod"] = body
    return g.add("FlexAttention", [q, k, v], domain="ai.onnx.preview",
                 **attributes)


@operator(weight=2)
def rotary(g: Graph):
    batch, heads, steps = g.integer(1, 3), g.integer(1, 4), g.integer(1, 5)
    size = g.one_of(4, 8)
    turned = g.one_of(0, 0, 4)
    half = (turned or size) // 2
    attributes = dict(interleaved=g.integer(0, 2))
    shape = [batch, heads, steps, size]
    if g.chance(0.4):
        shape = [batch, steps, heads * size]
        attributes["num_heads"] = heads
    if turned:
        # ONNX Runtime wants to know the heads of any input then.
        attributes.update(rotary_embedding_dim=turned, num_heads=heads)
    x = g.pick(F32, lambda v: list(v.shape) == shape, lambda: g.draw(shape))
    if g.chance(0.5):
        cache = [g.integer(steps, 9), half]
        at = g.given(g.rng.integers(0, cache[0], (batch, steps)).astype(I64))
        return g.add("RotaryEmbedding", [x, g.given(g.draw(cache)),
                                         g.given(g.draw(cache)), at],
                     **attributes)
    caches = [g.given(g.draw([batch, steps, half])) for _ in range(2)]
    return g.add("RotaryEmbedding", [x, *caches], **attributes)


@operator()
def linear_attention(g: Graph):
    batch, steps = g.integer(1, 3), g.integer(1, 5)
    shared = g.integer(1, 3)
    heads = shared * g.integer(1, 3)
    dk, dv = g.one_of(2, 4), g.one_of(2, 4)
    rule = g.one_of("linear", "gated", "delta", "gated_delta")

    def draw(*shape):
        return g.given((g.draw(shape) / 4).astype(F32))
    q = draw(batch, steps, heads * dk)
    k, v = draw(batch, steps, shared * dk), draw(batch, steps, shared * dv)
    past = draw(batch, shared, dk, dv) if g.chance(0.5) else None
    decay = g.given(-np.abs(g.draw([batch, steps, shared * dk])) / 2) \
        if "gated" in rule else None
    beta = draw(batch, steps, shared) if "delta" in rule else None
    return g.add("LinearAttention", [q, k, v, past, decay, beta], outputs=2,
                 opset=27, q_num_heads=heads, kv_num_heads=shared,
                 update_rule=rule)


@operator()
def causal_conv(g: Graph):
    batch, channels, steps = g.integer(1, 3), g.integer(1, 5), g.integer(1, 8)
    kernel = g.integer(1, 5)
    x = g.given(g.draw([batch, channels, steps]))
    w = g.given(g.draw([channels, 1, kernel]))
    bias = g.given(g.draw([channels])) if g.chance(0.5) else None
    past = g.given(g.draw([batch, channels, kernel - 1])) \
        if g.chance(0.5) and kernel > 1 else None
    return g.add("CausalConvWithState", [x, w, bias, past], outputs=2, opset=27,
                 activation=g.one_of("none", "silu", "swish"))


@operator()
def swi_glu(g: Graph):
    x = g.tensor()
    y = g.pick(F32, lambda v: v.shape == x.shape, lambda: g.draw(x.shape))
    return g.add("SwiGLU", [x, y], opset=28, alpha=g.one_of(1.0, 0.5))
