"""Elementwise operators on integers."""
import numpy as np

from graphs import (F32, F64, I32, I64, INTEGERS, U8, U16, U32, U64, Graph,
                    type_of)

from .elementwise import partner
from .table import operator


@operator("Add", "Sub", "Mul", "Max", "Min", weight=2)
def arithmetic(g: Graph, op):
    dtype = g.integer_type()
    x = g.tensor(dtype)
    return g.add(op, [x, partner(g, x, dtype)], False)


@operator("Abs", "Sign", "Neg")
def unary(g: Graph, op):
    dtype = g.integer_type()
    if op == "Neg" and dtype.kind == "u":
        return False
    return g.add(op, [g.tensor(dtype)], False)


@operator()
def shrink(g: Graph):
    """By numbers that are no integers; results are of the type."""
    x = g.tensor(g.one_of(I32, *INTEGERS), exact=True)
    return g.add("Shrink", [x], False, bias=g.one_of(0.0, 0.5, 1.0),
                 lambd=g.one_of(1.0, 1.5, 2.0))


@operator(weight=2)
def divide(g: Graph):
    dtype = g.integer_type()
    x = g.tensor(dtype)
    y = partner(g, x, dtype)
    if np.any(y.array == 0):
        y = g.given(np.maximum(np.abs(g.draw((), dtype)), 1).astype(dtype))
    # The reference rounds down; ONNX says towards zero.
    if np.any(x.array < 0) or np.any(y.array < 0):
        return False
    return g.add("Div", [x, y], False)


@operator(weight=2)
def modulo(g: Graph):
    fmod = g.integer(0, 2)
    dtype = g.one_of(F32, F64) if fmod and g.chance(0.5) else g.integer_type()
    x = g.tensor(dtype, exact=True)
    y = partner(g, x, dtype, exact=True)
    if np.any(y.array == 0):
        return False
    return g.add("Mod", [x, y], False, fmod=fmod)


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(g: Graph, op):
    dtype = g.one_of(I32, *INTEGERS)
    x = g.tensor(dtype)
    return g.add(op, [x, partner(g, x, dtype)], False)


@operator()
def bitwise_not(g: Graph):
    return g.add("BitwiseNot", [g.tensor(g.one_of(I32, *INTEGERS))], False)


@operator()
def bit_shift(g: Graph):
    dtype = g.one_of(U8, U16, U32, U64)
    x = g.tensor(dtype)
    places = g.given(g.rng.integers(0, 4, x.shape).astype(dtype))
    return g.add("BitShift", [x, places], False,
                 direction=g.one_of("LEFT", "RIGHT"))


@operator()
def bit_cast(g: Graph):
    """BitCast and back, because the bits as integers are large."""
    from_, to = g.one_of((F32, I32), (F64, I64), (F32, U32), (I32, U32))
    x = g.tensor(from_)
    if to.kind == "u" and from_.kind == "i" and np.any(x.array < 0):
        return False
    bits = g.unchecked("BitCast", [x], x.array.view(to), to=type_of(to))
    bits.noisy, bits.exact = x.with_noise().view(to), x.exact
    if g.add("BitCast", [bits], False, to=type_of(from_)):
        return True
    g.nodes.pop()
    return False
