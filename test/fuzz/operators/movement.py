"""Operators that move elements, and shapes."""
import numpy as np
from onnx import numpy_helper

from graphs import F32, I64, Graph

from .table import operator


@operator(weight=5)
def transpose(g: Graph):
    x = g.any_tensor(1, 5)
    if g.chance(0.1):
        return g.add("Transpose", [x], False)
    return g.add("Transpose", [x], False,
                 perm=g.rng.permutation(x.rank).tolist())


@operator(weight=5)
def reshape(g: Graph):
    x = g.any_tensor()
    left, shape = x.array.size, []
    while left > 1 and len(shape) < 4:
        divisors = [d for d in range(1, left + 1) if left % d == 0]
        shape.append(int(g.rng.choice(divisors)))
        left //= shape[-1]
    shape.append(left)
    if g.chance(0.3):
        shape[g.integer(0, len(shape))] = -1
    return g.add("Reshape", [x, g.constant(shape)], False)


@operator(weight=2)
def reshape_by_shape(g: Graph):
    """As exporters write it: the shape is computed from another one."""
    x = g.any_tensor(2, 4)
    if not g.add("Shape", [x], False, start=0, end=1):
        return False
    first = g.values[-1]
    if not g.add("Concat", [first, g.constant([-1])], False, axis=0):
        return False
    return g.add("Reshape", [x, g.values[-1]], False)


@operator("Shape", "Size")
def shape_of(g: Graph, op):
    x = g.any_tensor(1)
    attributes = {}
    if op == "Shape" and g.chance(0.5):
        attributes["start"] = g.integer(-x.rank, 1)
    if op == "Shape" and g.chance(0.3):
        attributes["end"] = g.integer(1, x.rank + 1)
    return g.add(op, [x], False, **attributes)


@operator(weight=4)
def slice_(g: Graph):
    x = g.any_tensor(1)
    count = g.integer(1, min(x.rank, 2) + 1)
    axes = g.rng.permutation(x.rank)[:count].tolist()
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.shape[axis]
        step = g.one_of(1, 1, 2, -1, -2)
        start = g.integer(0, size)
        if step > 0:
            end = g.one_of(g.integer(start + 1, size + 1), 2 ** 31)
        else:
            end = g.one_of(g.integer(-size - 1, start - size), -2 ** 31)
        starts.append(start - size if g.chance(0.3) else start)
        ends.append(end)
        steps.append(step)
    if g.chance(0.3):
        axes = [a - x.rank for a in axes]
    operands = [x, g.constant(starts), g.constant(ends), g.constant(axes)]
    if any(s != 1 for s in steps) or g.chance(0.5):
        operands.append(g.constant(steps))
    return g.add("Slice", operands, False)


@operator(weight=4)
def concat(g: Graph):
    x = g.any_tensor(1)
    axis = g.integer(0, x.rank)

    def fits(v):
        return v.rank == x.rank and all(
            a == b for d, (a, b) in enumerate(zip(v.shape, x.shape))
            if d != axis)
    parts = [x] + [g.pick(x.dtype, fits) for _ in range(g.integer(1, 3))]
    return g.add("Concat", parts, False,
                 axis=axis - x.rank if g.chance(0.3) else axis)


@operator(weight=3)
def split(g: Graph):
    x = g.any_tensor(1)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    if size < 2:
        return False
    if g.chance(0.3):
        parts = g.integer(2, min(size, 4) + 1)
        if -(-size // parts) * (parts - 1) >= size:
            return False
        return g.add("Split", [x], False, parts, axis=axis, num_outputs=parts)
    first = g.integer(1, size)
    return g.add("Split", [x, g.constant([first, size - first])], False, 2,
                 axis=axis - x.rank if g.chance(0.3) else axis)


@operator(weight=3)
def pad(g: Graph):
    x = g.any_tensor(1)
    mode = g.one_of("constant", "constant", "edge", "reflect", "wrap")
    rank = x.rank
    axes = list(range(rank))
    if g.chance(0.3):
        axes = g.rng.permutation(rank)[:g.integer(1, rank + 1)].tolist()
    sizes = [x.shape[a] for a in axes]
    most = min(sizes) if mode in ("reflect", "wrap") else 4
    least = -1 if mode == "constant" and min(sizes) > 3 else 0
    pads = [g.integer(least, min(most, 4)) for _ in range(2 * len(axes))]
    fill = None
    if mode == "constant" and g.chance(0.5):
        fill = g.given(g.draw((), x.dtype))
    operands = [x, g.constant(pads), fill, g.constant(axes)]
    if axes == list(range(rank)):
        operands = operands[:3] if fill else operands[:2]
    return g.add("Pad", operands, False, mode=mode)


@operator(weight=2)
def expand(g: Graph):
    x = g.any_tensor(0, 3)
    shape = [s if s > 1 else g.integer(1, 5) for s in x.shape]
    if g.chance(0.4):
        shape.insert(0, g.integer(1, 4))
    return g.add("Expand", [x, g.constant(shape)], False)


@operator(weight=2)
def tile(g: Graph):
    x = g.any_tensor(1, 3)
    return g.add("Tile", [x, g.constant([g.integer(1, 4)
                                         for _ in range(x.rank)])], False)


@operator(weight=2)
def squeeze(g: Graph):
    x = g.any_tensor()
    ones = [d for d, s in enumerate(x.shape) if s == 1]
    if ones and g.chance(0.7):
        axes = [g.constant(ones[:1])] if g.chance(0.7) else []
        return g.add("Squeeze", [x, *axes], False)
    axis = g.integer(-x.rank - 1, x.rank + 1)
    return g.add("Unsqueeze", [x, g.constant([axis])], False)


@operator()
def flatten(g: Graph):
    x = g.any_tensor(1)
    return g.add("Flatten", [x], False, axis=g.integer(-x.rank, x.rank + 1))


@operator(weight=2)
def trilu(g: Graph):
    x = g.any_tensor(2)
    operands = [x]
    if g.chance(0.6):
        operands.append(g.constant(g.integer(-3, 4)))
    return g.add("Trilu", operands, False, upper=g.integer(0, 2))


@operator("DepthToSpace", "SpaceToDepth")
def blocks(g: Graph, op):
    x = g.pick(F32, lambda v: v.rank == 4, lambda: g.draw(
        [g.integer(1, 3), 4 * g.integer(1, 3), 2 * g.integer(1, 4),
         2 * g.integer(1, 4)]))
    attributes = dict(blocksize=2)
    if op == "DepthToSpace":
        if x.shape[1] % 4:
            return False
        attributes["mode"] = g.one_of("DCR", "CRD")
    elif x.shape[2] % 2 or x.shape[3] % 2:
        return False
    return g.add(op, [x], False, **attributes)


@operator()
def center_crop_pad(g: Graph):
    x = g.tensor(least=1, most=3)
    if g.chance(0.5):
        shape = [max(1, s + g.integer(-3, 4)) for s in x.shape]
        return g.add("CenterCropPad", [x, g.constant(shape)], False)
    axis = g.integer(0, x.rank)
    shape = [max(1, x.shape[axis] + g.integer(-3, 4))]
    return g.add("CenterCropPad", [x, g.constant(shape)], False, axes=[axis])


@operator()
def reverse_sequence(g: Graph):
    x = g.any_tensor(2)
    batch = g.integer(0, 2)
    lengths = g.rng.integers(1, x.shape[1 - batch] + 1, x.shape[batch])
    return g.add("ReverseSequence", [x, g.given(lengths.astype(I64))], False,
                 batch_axis=batch, time_axis=1 - batch)


@operator()
def col_to_im(g: Graph):
    image = [g.integer(3, 7), g.integer(3, 7)]
    block = [g.integer(1, 4), g.integer(1, 4)]
    attributes = dict(strides=[g.integer(1, 3)] * 2,
                      dilations=[g.integer(1, 3)] * 2,
                      pads=[g.integer(0, 2) for _ in range(4)])
    count = 1
    for d in range(2):
        room = (image[d] + attributes["pads"][d] + attributes["pads"][2 + d]
                - attributes["dilations"][d] * (block[d] - 1) - 1)
        if room < 0:
            return False
        count *= room // attributes["strides"][d] + 1
    x = g.given(g.draw([g.integer(1, 3),
                        g.integer(1, 3) * block[0] * block[1], count]))
    return g.add("Col2Im", [x, g.constant(image), g.constant(block)],
                 **attributes)


@operator()
def constant(g: Graph):
    value = g.draw(g.shape(g.integer(0, 3)), g.any_type())
    return g.add("Constant", [], False, value=numpy_helper.from_array(value))


@operator()
def constant_of_shape(g: Graph):
    value = g.draw([1], g.any_type())
    return g.add("ConstantOfShape", [g.constant(g.shape(g.integer(0, 4)))],
                 False, value=numpy_helper.from_array(value))


@operator()
def range_(g: Graph):
    dtype = g.one_of(F32, I64)
    start = g.draw((), dtype)
    step = np.asarray(g.one_of(1, 2, -1, -3), dtype)
    limit = start + step * np.asarray(g.integer(1, 9), dtype)
    return g.add("Range", [g.constant(v, dtype)
                           for v in (start, limit, step)], False)


@operator()
def eye_like(g: Graph):
    x = g.pick(F32, lambda v: v.rank == 2, lambda: g.draw(g.shape(2)))
    return g.add("EyeLike", [x], False, k=g.integer(-2, 3))
