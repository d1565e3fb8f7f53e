"""Matrix products, convolutions and composites of them."""
from graphs import F32, F64, I32, Graph

from .table import operator


@operator(weight=6)
def matmul(g: Graph):
    dtype = g.one_of(*[F32] * 8, F64)
    x = g.tensor(dtype, least=1)
    k = x.shape[-1]
    n = g.one_of(1, 3, 8, 16)
    batch = [1 if g.chance(0.5) else s for s in x.shape[:-2]]
    drop = g.integer(0, len(batch) + 1)
    y = g.pick(dtype, lambda v: v.rank == 2 and v.shape[0] == k,
               lambda: g.draw([*batch[drop:], k, n], dtype))
    return g.add("MatMul", [x, y])


@operator()
def matmul_of_integers(g: Graph):
    x = g.tensor(I32, least=2)
    return g.add("MatMul", [x, g.given(g.draw([x.shape[-1], 3], I32))], False)


@operator(weight=2)
def matmul_left(g: Graph):
    """MatMul with an existing value on the right, which may be a vector."""
    x = g.tensor(least=1)
    k = x.shape[-2] if x.rank > 1 else x.shape[0]
    shape = [k] if g.chance(0.3) else [g.one_of(1, 2, 5, 8), k]
    return g.add("MatMul", [g.given(g.draw(shape)), x])


@operator(weight=3)
def gemm(g: Graph):
    x = g.pick(F32, lambda v: v.rank == 2, lambda: g.draw(g.shape(2)))
    a, b = g.integer(0, 2), g.integer(0, 2)
    m, k = x.shape[::-1] if a else x.shape
    n = g.one_of(1, 3, 8, 16)
    operands = [x, g.given(g.draw([n, k] if b else [k, n]))]
    attributes = dict(transA=a, transB=b)
    if g.chance(0.6):
        operands.append(g.given(g.draw(g.one_of([n], [m, n], [1, n], [m, 1],
                                                []))))
        attributes["beta"] = 0.5
    return g.add("Gemm", operands, alpha=0.5, **attributes)


def window(g: Graph, x, rank):
    """Attributes of a window over the last dimensions that fits, or None."""
    kernel = [g.integer(1, 4) for _ in range(rank)]
    attributes = dict(strides=[g.integer(1, 3) for _ in range(rank)],
                      dilations=[g.integer(1, 3) for _ in range(rank)])
    if g.chance(0.2):
        attributes["auto_pad"] = g.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
        # ONNX Runtime does not support auto_pad with dilations.
        attributes["dilations"] = [1] * rank
        pads = [0] * (2 * rank)
    else:
        attributes["pads"] = pads = [g.integer(0, 3) for _ in range(2 * rank)]
    for d in range(rank):
        padded = x.shape[2 + d] + pads[d] + pads[rank + d]
        if padded < (kernel[d] - 1) * attributes["dilations"][d] + 1:
            return None, None
    return kernel, attributes


def image(g: Graph, rank):
    return g.pick(F32, lambda v: v.rank == rank + 2,
                  lambda: g.draw(g.shape(rank + 2)))


@operator(weight=5)
def conv(g: Graph):
    rank = g.one_of(1, 2, 2, 2, 3)
    x = image(g, rank)
    channels = x.shape[1]
    groups = g.one_of(*(d for d in (1, 1, 1, 2, channels) if channels % d == 0))
    filters = groups * g.integer(1, 5)
    kernel, attributes = window(g, x, rank)
    if not kernel:
        return False
    operands = [x, g.given(g.draw([filters, channels // groups, *kernel]))]
    if g.chance(0.5):
        operands.append(g.given(g.draw([filters])))
    return g.add("Conv", operands, group=groups, **attributes)


@operator()
def conv_sum(g: Graph):
    """Two convolutions of the same image, as at the end of a residual block."""
    rank = g.one_of(1, 2, 2, 3)
    x = image(g, rank)
    kernel, attributes = window(g, x, rank)
    if not kernel:
        return False
    filters = g.one_of(1, 3, 8)
    terms = []
    for _ in range(2):
        operands = [x, g.given(g.draw([filters, x.shape[1], *kernel]))]
        if g.chance(0.7):
            operands.append(g.given(g.draw([filters])))
        if not g.add("Conv", operands, **attributes):
            return False
        terms.append(g.values[-1])
    return g.add("Add", terms)


@operator(weight=2)
def conv_transpose(g: Graph):
    rank = g.one_of(1, 2, 2, 3)
    x = image(g, rank)
    channels = x.shape[1]
    groups = g.one_of(1, 1, 2, channels)
    if channels % groups:
        return False
    kernel = [g.integer(1, 4) for _ in range(rank)]
    strides = [g.integer(1, 3) for _ in range(rank)]
    attributes = dict(strides=strides, group=groups,
                      dilations=[g.integer(1, 3) for _ in range(rank)],
                      pads=[g.integer(0, 2) for _ in range(2 * rank)])
    if g.chance(0.3):
        attributes["output_padding"] = [g.integer(0, s) for s in strides]
    for d in range(rank):
        size = (strides[d] * (x.shape[2 + d] - 1)
                + (kernel[d] - 1) * attributes["dilations"][d] + 1
                - attributes["pads"][d] - attributes["pads"][rank + d])
        if size < 1:
            return False
    operands = [x, g.given(g.draw([channels, g.integer(1, 4), *kernel]))]
    if g.chance(0.5):
        operands.append(g.given(g.draw([operands[1].shape[1] * groups])))
    return g.add("ConvTranspose", operands, **attributes)


@operator()
def deform_conv(g: Graph):
    x = image(g, 2)
    kernel, attributes = window(g, x, 2)
    if not kernel or "auto_pad" in attributes:
        return False
    out = [(x.shape[2 + d] + attributes["pads"][d] + attributes["pads"][2 + d]
            - (kernel[d] - 1) * attributes["dilations"][d] - 1)
           // attributes["strides"][d] + 1 for d in range(2)]
    n = x.shape[0]
    operands = [x, g.given(g.draw([g.integer(1, 4), x.shape[1], *kernel])),
                g.given(g.draw([n, 2 * kernel[0] * kernel[1], *out]))]
    if g.chance(0.5):
        operands.append(g.given(g.draw([operands[1].shape[0]])))
        if g.chance(0.5):
            operands.append(g.given(
                g.draw([n, kernel[0] * kernel[1], *out])))
    return g.add("DeformConv", operands, kernel_shape=kernel, **attributes)


@operator(*["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,bkj->bki", "ij->ji",
            "ij->i", "ij->", "i,j->ij", "ii->i", "bij,bij->bi", "ij,j->i",
            "bhid,bhjd->bhij", "...ij,...jk->...ik", "ij,jk,kl->il", "ii",
            "bjj", "ji,kj"])
def einsum(g: Graph, equation):
    sizes = {}
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = [sizes.setdefault(letter, g.integer(1, 6))
                 for letter in term.replace("...", "b")]
        operands.append(g.pick(F32, lambda v: list(v.shape) == shape,
                               lambda: g.draw(shape)))
    return g.add("Einsum", operands, equation=equation)


@operator()
def determinant(g: Graph):
    n = g.integer(1, 4)
    x = g.given(g.draw([*g.one_of([], [2], [2, 3]), n, n]))
    return g.add("Det", [x])
