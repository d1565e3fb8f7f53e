"""If, Loop and Scan over small bodies."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from graphs import BOOL, F32, Graph

from .table import operator

info = helper.make_tensor_value_info


def name(g: Graph, what):
    """A name of a subgraph's own."""
    return f"s{len(g.nodes)}_{what}"


def number(g: Graph, what, value):
    return helper.make_node(
        "Constant", [], [name(g, what)],
        value=numpy_helper.from_array(np.asarray(value, F32)))


@operator(weight=3)
def branch(g: Graph):
    """If with a condition that is constant or an input."""
    x = g.tensor()
    y = g.pick(F32, lambda v: v.shape == x.shape, lambda: g.draw(x.shape))
    condition = g.given(g.draw((), BOOL))

    def side(which, *nodes):
        return helper.make_graph(list(nodes), which,
                                 [], [info(nodes[-1].output[0], 1, x.shape)])
    one = name(g, "then")
    then = side("then", helper.make_node(g.one_of("Relu", "Neg", "Abs"),
                                         [x.name], [one]))
    two, half = name(g, "else"), number(g, "half", 0.5)
    other = side("else", half, helper.make_node(
        g.one_of("Mul", "Add", "Sub"), [y.name, half.output[0]], [two]))
    return g.add("If", [condition], captured=[x, y], then_branch=then,
                 else_branch=other)


@operator(weight=2)
def loop(g: Graph):
    """Loop with a state that every step halves and adds to; collects its values."""
    x = g.tensor(most=3)
    step = g.pick(F32, lambda v: v.shape == x.shape, lambda: g.draw(x.shape))
    count = g.integer(1, 5)
    n = {w: name(g, w) for w in ("i", "c", "x", "keep", "h", "y", "z")}
    half = number(g, "half", 0.5)
    nodes = [half, helper.make_node("Mul", [n["x"], half.output[0]], [n["h"]]),
             helper.make_node("Add", [n["h"], step.name], [n["y"]]),
             helper.make_node("Identity", [n["c"]], [n["keep"]])]
    outputs = [info(n["keep"], TensorProto.BOOL, []),
               info(n["y"], TensorProto.FLOAT, x.shape)]
    # onnx's reference turns collected scalars into columns.
    collects = g.chance(0.5) and x.shape != ()
    if collects:
        nodes.append(helper.make_node("Neg", [n["y"]], [n["z"]]))
        outputs.append(info(n["z"], TensorProto.FLOAT, x.shape))
    body = helper.make_graph(
        nodes, "body", [info(n["i"], TensorProto.INT64, []),
                        info(n["c"], TensorProto.BOOL, []),
                        info(n["x"], TensorProto.FLOAT, x.shape)], outputs)
    go_on = g.constant(True, BOOL)
    return g.add("Loop", [g.constant(count), go_on, x],
                 outputs=2 if collects else 1, captured=[step], body=body)


@operator(weight=2)
def scan(g: Graph):
    """Scan with a running sum and a result per slice."""
    x = g.tensor(least=2, most=3)
    if x.shape[0] > 8:
        return False
    shape = list(x.shape[1:])
    state = g.pick(F32, lambda v: list(v.shape) == shape,
                   lambda: g.draw(shape))
    n = {w: name(g, w) for w in ("s", "x", "t", "y")}
    body = helper.make_graph(
        [helper.make_node("Add", [n["s"], n["x"]], [n["t"]]),
         helper.make_node(g.one_of("Relu", "Neg", "Sigmoid"), [n["t"]],
                          [n["y"]])],
        "body", [info(n["s"], 1, shape), info(n["x"], 1, shape)],
        [info(n["t"], 1, shape), info(n["y"], 1, shape)])
    return g.add("Scan", [state, x], outputs=2, body=body, num_scan_inputs=1)
