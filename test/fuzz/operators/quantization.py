"""Quantised values and what computes on them."""
import numpy as np

from graphs import F32, I8, I32, U8, Graph

from .contraction import image, window
from .table import operator


def scale(g: Graph, shape=()):
    """A power of two, which divides without rounding."""
    return g.given(np.asarray(2.0 ** g.rng.integers(-4, 1, shape), F32))


@operator(weight=2)
def quantize(g: Graph):
    """Exact values only: a rounding error may become a whole step."""
    x = g.tensor(least=1, exact=True)
    dtype = g.one_of(U8, I8)
    axis = g.integer(0, x.rank)
    shape = (x.shape[axis],) if g.chance(0.4) else ()
    zero = g.given(g.draw(shape, dtype))
    return g.add("QuantizeLinear", [x, scale(g, shape), zero], False, axis=axis)


@operator(weight=2)
def dequantize(g: Graph):
    x = g.tensor(g.one_of(U8, I8), least=1)
    axis = g.integer(0, x.rank)
    shape = (x.shape[axis],) if g.chance(0.4) else ()
    operands = [x, scale(g, shape)]
    if g.chance(0.7):
        operands.append(g.given(g.draw(shape, x.dtype)))
    return g.add("DequantizeLinear", operands, False, axis=axis)


@operator()
def dequantize_sums(g: Graph):
    x = g.tensor(I32)
    return g.add("DequantizeLinear", [x, scale(g)], False)


@operator()
def dynamic_quantize(g: Graph):
    """From 0 to 255 eighths, so that the scale is exact."""
    x = g.rng.integers(0, 256, g.shape(g.integer(1, 3)))
    x.flat[0] = 255
    x = g.given((x / 8).astype(F32))
    if x.array.size < 2:
        return False
    return g.add("DynamicQuantizeLinear", [x], False, 3)


@operator()
def matmul_integer(g: Graph):
    x = g.tensor(g.one_of(U8, I8), least=2, most=3)
    n = g.one_of(1, 3, 8)
    y = g.given(g.draw([x.shape[-1], n], g.one_of(U8, I8)))
    operands = [x, y]
    if g.chance(0.6):
        operands.append(g.given(g.draw((), x.dtype)))
        if g.chance(0.6):
            operands.append(g.given(g.draw(g.one_of((), (n,)), y.dtype)))
    return g.add("MatMulInteger", operands, False)


@operator()
def quantized_matmul(g: Graph):
    dtype = g.one_of(U8, I8)
    x = g.given(g.draw([g.integer(1, 5), g.one_of(1, 4, 8)], dtype))
    y = g.given(g.draw([x.shape[1], g.integer(1, 5)], dtype))

    def zero():
        return g.given(g.draw((), dtype))
    return g.add("QLinearMatMul", [x, scale(g), zero(), y, scale(g), zero(),
                                   scale(g), zero()], False)


def quantized_image(g: Graph):
    x = image(g, 2)
    return g.given(g.draw(x.shape, U8))


@operator()
def conv_integer(g: Graph):
    x = quantized_image(g)
    kernel, attributes = window(g, x, 2)
    if not kernel:
        return False
    # ONNX Runtime does not support signed weights here.
    w = g.given(g.draw([g.integer(1, 4), x.shape[1], *kernel], U8))
    operands = [x, w]
    if g.chance(0.6):
        operands.append(g.given(g.draw((), U8)))
    return g.add("ConvInteger", operands, False, **attributes)


@operator()
def quantized_conv(g: Graph):
    x = quantized_image(g)
    kernel, attributes = window(g, x, 2)
    if not kernel:
        return False
    filters = g.integer(1, 4)
    w = g.given(g.draw([filters, x.shape[1], *kernel], U8))

    def zero():
        return g.given(g.draw((), U8))
    operands = [x, scale(g), zero(), w, scale(g), zero(), scale(g), zero()]
    if g.chance(0.5):
        operands.append(g.given(g.draw([filters], I32)))
    return g.add("QLinearConv", operands, False, **attributes)
