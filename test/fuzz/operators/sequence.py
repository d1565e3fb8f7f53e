"""Sequences of tensors: made, changed and read by the nodes of one operator."""
from onnx import helper

from graphs import F32, F64, Graph

from .control import info
from .table import operator


@operator(weight=2)
def sequence(g: Graph):
    x = g.any_tensor(1)
    axis = g.integer(0, x.rank)
    nodes, captured = [], [x]

    def make(op, *operands, **attributes):
        name = f"s{len(g.nodes)}_{len(nodes)}"
        nodes.append(helper.make_node(
            op, [getattr(v, "name", v) for v in operands], [name],
            **attributes))
        captured.extend(v for v in operands if not isinstance(v, str))
        return name

    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    how = g.integer(0, 4)
    if how == 0:
        sizes = [x.shape[axis]]
        tensors = make("SequenceInsert", make("SequenceEmpty", dtype=kind), x)
    elif how == 1:
        part = g.integer(1, x.shape[axis] + 1)
        sizes = [part] * (x.shape[axis] // part)
        sizes += [x.shape[axis] % part] if x.shape[axis] % part else []
        given = part if g.chance(0.5) else sizes
        tensors = make("SplitToSequence", x, g.constant(given), axis=axis)
    else:
        others = [g.pick(x.dtype, lambda v: v.shape == x.shape)
                  for _ in range(g.integer(0, 3))]
        sizes = [x.shape[axis]] * (1 + len(others))
        tensors = make("SequenceConstruct", x, *others)
    if g.chance(0.3):
        # At its length, onnx's reference inserts at the front, not at the end.
        at = g.integer(-len(sizes), len(sizes))
        sizes.insert(at, x.shape[axis])
        tensors = make("SequenceInsert", tensors, x, g.constant(at))
    if len(sizes) > 1 and g.chance(0.3):
        at = g.integer(-len(sizes), len(sizes))
        del sizes[at]
        tensors = make("SequenceErase", tensors, g.constant(at))
    if x.dtype in (F32, F64) and g.chance(0.3):
        body = helper.make_graph(
            [helper.make_node("Neg", ["e"], ["r"])], "each",
            [info("e", kind, None)], [info("r", kind, None)])
        tensors = make("SequenceMap", tensors, body=body)
    how = g.integer(0, 5)
    if how == 0:
        return g.add("SequenceLength", [tensors], False, captured=captured,
                     before=nodes)
    if how < 3:
        at = g.constant(g.integer(-len(sizes), len(sizes)))
        return g.add("SequenceAt", [tensors, at], False, captured=captured,
                     before=nodes)
    stacks = len(set(sizes)) == 1 and g.chance(0.5)
    return g.add("ConcatFromSequence", [tensors], False, captured=captured,
                 before=nodes, axis=axis, new_axis=int(stacks))
