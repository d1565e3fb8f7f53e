"""What random graphs are made of: functions that add a node to a graph, or
decline by returning False or None."""
import functools

import numpy as np

from graphs import BOOL, F32, I32, I64, MOST_ELEMENTS, Graph

OPERATORS = []


def operator(*arguments, weight=1):
    """Puts the function into the table, once for each of `arguments`."""
    def enter(function):
        bound = [functools.partial(function, *a) if isinstance(a, tuple)
                 else functools.partial(function, a) for a in arguments]
        OPERATORS.extend((bound or [function]) * weight)
        return function
    return enter


def last(function):
    """Makes (arguments..., graph) of (graph, arguments...)."""
    @functools.wraps(function)
    def call(*arguments):
        return function(arguments[-1], *arguments[:-1])
    return call


# Elementwise. -----------------------------------------------------------------

def anywhere(x):
    return True


@operator(("Abs", anywhere, False), ("Neg", anywhere, False),
          ("Ceil", anywhere, False), ("Floor", anywhere, False),
          ("Round", anywhere, False), ("Sign", anywhere, False),
          ("Relu", anywhere, False),
          ("Sqrt", lambda x: np.all(x > 0.05), True),
          ("Reciprocal", lambda x: np.all(abs(x) > 0.2), True),
          ("Exp", lambda x: np.all(x < 4), True),
          ("Log", lambda x: np.all(x > 0.1), True),
          ("Sin", lambda x: np.all(abs(x) < 50), True),
          ("Cos", lambda x: np.all(abs(x) < 50), True),
          ("Tan", lambda x: np.all(abs(x) < 1.2), True),
          ("Asin", lambda x: np.all(abs(x) < 0.9), True),
          ("Acos", lambda x: np.all(abs(x) < 0.9), True),
          ("Atan", anywhere, True),
          ("Sinh", lambda x: np.all(abs(x) < 4), True),
          ("Cosh", lambda x: np.all(abs(x) < 4), True),
          ("Asinh", anywhere, True),
          ("Acosh", lambda x: np.all(x > 1.1), True),
          ("Atanh", lambda x: np.all(abs(x) < 0.9), True),
          ("Tanh", anywhere, True), ("Erf", anywhere, True),
          ("Sigmoid", anywhere, True), ("Softplus", anywhere, True),
          ("Softsign", anywhere, True), ("Mish", anywhere, True),
          ("HardSwish", anywhere, True), ("Elu", anywhere, True),
          ("Selu", anywhere, True), ("LeakyRelu", anywhere, True),
          ("HardSigmoid", anywhere, True), ("Gelu", anywhere, True))
@last
def unary(g: Graph, op, domain, rounds):
    jumps = op in ("Ceil", "Floor", "Round", "Sign")
    x = g.tensor(exact=jumps)
    if not domain(x.array):
        return False
    attributes = {}
    if op in ("Elu", "LeakyRelu", "HardSigmoid") and g.chance(0.5):
        attributes["alpha"] = 0.25
    if op == "Gelu" and g.chance(0.5):
        attributes["approximate"] = "tanh"
    return g.add(op, [x], rounds, **attributes)


def partner(g: Graph, x, dtype=F32, exact=False):
    """A value whose shape broadcasts with that of x."""
    def fits(v):
        try:
            shape = np.broadcast_shapes(v.shape, x.shape)
        except ValueError:
            return False
        return (v.exact or not exact) and np.prod(shape) <= MOST_ELEMENTS

    def make():
        drop = g.integer(0, x.rank + 1)
        return g.draw([1 if g.chance(0.3) else s for s in x.shape[drop:]],
                      dtype)
    return g.pick(dtype, fits, make)


@operator("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", weight=3)
@last
def binary(g: Graph, op):
    dtype = I64 if g.chance(0.15) and op != "Pow" else F32
    x = g.tensor(dtype)
    y = partner(g, x, dtype)
    if g.chance(0.5):
        x, y = y, x
    if op == "Div" and np.any(abs(y.array) < 0.2):
        return False
    if op == "Pow" and (np.any(x.array < 0.1) or np.any(abs(y.array) > 3)):
        return False
    return g.add(op, [x, y], op in ("Mul", "Div", "Pow", "Add", "Sub")
                 and dtype == F32)


@operator("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
@last
def compare(g: Graph, op):
    dtype = I64 if g.chance(0.3) else F32
    x = g.tensor(dtype, exact=True)
    return g.add(op, [x, partner(g, x, dtype, exact=True)], False)


@operator("And", "Or", "Xor")
@last
def logical(g: Graph, op):
    x = g.tensor(BOOL)
    return g.add(op, [x, partner(g, x, BOOL)], False)


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
@last
def bitwise(g: Graph, op):
    x = g.tensor(I32)
    return g.add(op, [x, partner(g, x, I32)], False)


@operator()
def logical_not(g: Graph):
    return g.add("Not", [g.tensor(BOOL)], False)


@operator(weight=2)
def where(g: Graph):
    x = g.tensor()
    return g.add("Where", [partner(g, x, BOOL), x, partner(g, x)], False)


@operator(weight=2)
def clip(g: Graph):
    x = g.tensor()
    bounds = sorted(g.draw(2).tolist())
    operands = [x, *(g.given(np.float32(b)) for b in bounds)]
    return g.add("Clip", operands, False)


@operator(*[(a, b) for a in (F32, I64, I32, BOOL) for b in (F32, I64, I32, BOOL)
            if a != b])
@last
def cast(g: Graph, from_, to):
    from onnx import helper
    x = g.tensor(from_, exact=True)
    return g.add("Cast", [x], False, to=helper.np_dtype_to_tensor_dtype(to))


# Movement. --------------------------------------------------------------------

def any_tensor(g: Graph, least=0, most=4):
    return g.tensor([F32, F32, F32, I64, BOOL][g.integer(0, 5)], least, most)


@operator(weight=4)
def transpose(g: Graph):
    x = any_tensor(g, 1, 5)
    return g.add("Transpose", [x], False,
                 perm=g.rng.permutation(x.rank).tolist())


@operator(weight=4)
def reshape(g: Graph):
    x = any_tensor(g)
    left, shape = x.array.size, []
    while left > 1 and len(shape) < 4:
        divisors = [d for d in range(1, left + 1) if left % d == 0]
        shape.append(int(g.rng.choice(divisors)))
        left //= shape[-1]
    shape.append(left)
    if g.chance(0.3):
        shape[g.integer(0, len(shape))] = -1
    return g.add("Reshape", [x, g.constant(shape)], False)


@operator(weight=3)
def slice_(g: Graph):
    x = any_tensor(g, 1)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    step = int(g.rng.choice([1, 1, 2, -1, -2]))
    start = g.integer(0, size)
    if step > 0:
        end = g.integer(start + 1, size + 1)
    else:
        end = g.integer(-size - 1, start - size)
    return g.add("Slice", [x, g.constant([start]), g.constant([end]),
                           g.constant([axis]), g.constant([step])], False)


@operator(weight=3)
def concat(g: Graph):
    x = g.tensor(least=1)
    axis = g.integer(0, x.rank)

    def fits(v):
        return v.rank == x.rank and all(
            a == b for d, (a, b) in enumerate(zip(v.shape, x.shape))
            if d != axis)
    parts = [x] + [g.pick(F32, fits) for _ in range(g.integer(1, 3))]
    return g.add("Concat", parts, False,
                 axis=axis - x.rank if g.chance(0.3) else axis)


@operator(weight=2)
def split(g: Graph):
    x = any_tensor(g, 1)
    axis = g.integer(0, x.rank)
    if x.shape[axis] < 2:
        return False
    first = g.integer(1, x.shape[axis])
    return g.add("Split", [x, g.constant([first, x.shape[axis] - first])],
                 False, 2, axis=axis)


@operator(weight=2)
def pad(g: Graph):
    x = g.tensor(least=1)
    mode = str(g.rng.choice(["constant", "edge", "reflect"]))
    most = min(x.shape) if mode == "reflect" else 4
    pads = [g.integer(0, min(most, 4)) for _ in range(2 * x.rank)]
    operands = [x, g.constant(pads)]
    if mode == "constant" and g.chance(0.5):
        operands.append(g.given(g.draw(())))
    return g.add("Pad", operands, False, mode=mode)


@operator(weight=2)
def expand(g: Graph):
    x = any_tensor(g, 0, 3)
    shape = [s if s > 1 else g.integer(1, 5) for s in x.shape]
    if g.chance(0.4):
        shape.insert(0, g.integer(1, 4))
    return g.add("Expand", [x, g.constant(shape)], False)


@operator()
def tile(g: Graph):
    x = any_tensor(g, 1, 3)
    return g.add("Tile", [x, g.constant([g.integer(1, 4)
                                         for _ in range(x.rank)])], False)


@operator(weight=2)
def squeeze(g: Graph):
    x = any_tensor(g)
    ones = [d for d, s in enumerate(x.shape) if s == 1]
    if ones and g.chance(0.5):
        return g.add("Squeeze", [x, g.constant(ones[:1])], False)
    return g.add("Unsqueeze", [x, g.constant([g.integer(0, x.rank + 1)])],
                 False)


@operator(weight=2)
def gather(g: Graph):
    x = any_tensor(g, 1)
    axis = g.integer(0, x.rank)
    size = x.shape[axis]
    at = g.given(g.rng.integers(-size, size, g.shape(g.integer(0, 3))))
    return g.add("Gather", [x, at], False, axis=axis)


@operator()
def gather_elements(g: Graph):
    x = any_tensor(g, 1)
    axis = g.integer(0, x.rank)
    at = g.given(g.rng.integers(-x.shape[axis], x.shape[axis], x.shape))
    return g.add("GatherElements", [x, at], False, axis=axis)


@operator()
def flatten(g: Graph):
    x = g.tensor(least=1)
    return g.add("Flatten", [x], False, axis=g.integer(0, x.rank + 1))


# Contractions. ----------------------------------------------------------------

@operator(weight=6)
def matmul(g: Graph):
    x = g.tensor(least=1)
    k = x.shape[-1]
    n = int(g.rng.choice([1, 3, 8, 16]))
    batch = [1 if g.chance(0.5) else s for s in x.shape[:-2]]
    drop = g.integer(0, len(batch) + 1)
    y = g.pick(F32, lambda v: v.rank == 2 and v.shape[0] == k,
               lambda: g.draw([*batch[drop:], k, n]))
    return g.add("MatMul", [x, y])


@operator(weight=2)
def gemm(g: Graph):
    x = g.pick(F32, lambda v: v.rank == 2, lambda: g.draw(g.shape(2)))
    a, b = g.integer(0, 2), g.integer(0, 2)
    m, k = x.shape[::-1] if a else x.shape
    n = int(g.rng.choice([1, 3, 8, 16]))
    operands = [x, g.given(g.draw([n, k] if b else [k, n]))]
    attributes = dict(transA=a, transB=b)
    if g.chance(0.6):
        operands.append(g.given(g.draw([[n], [m, n], [1, n], [m, 1]]
                                       [g.integer(0, 4)])))
        attributes["beta"] = 0.5
    return g.add("Gemm", operands, alpha=0.5, **attributes)


@operator(weight=4)
def conv(g: Graph):
    rank = g.integer(1, 3)
    x = g.pick(F32, lambda v: v.rank == rank + 2,
               lambda: g.draw(g.shape(rank + 2)))
    channels = x.shape[1]
    groups = int(g.rng.choice([d for d in (1, 1, 1, 2, channels)
                               if channels % d == 0]))
    filters = groups * g.integer(1, 5)
    kernel = [g.integer(1, 4) for _ in range(rank)]
    attributes = dict(
        group=groups, strides=[g.integer(1, 3) for _ in range(rank)],
        dilations=[g.integer(1, 3) for _ in range(rank)],
        pads=[g.integer(0, 3) for _ in range(2 * rank)])
    for d in range(rank):
        padded = x.shape[2 + d] + attributes["pads"][d] \
            + attributes["pads"][rank + d]
        if padded < (kernel[d] - 1) * attributes["dilations"][d] + 1:
            return False
    operands = [x, g.given(g.draw([filters, channels // groups, *kernel]))]
    if g.chance(0.5):
        operands.append(g.given(g.draw([filters])))
    return g.add("Conv", operands, **attributes)


@operator("MaxPool", "AveragePool")
@last
def pool(g: Graph, op):
    rank = g.integer(1, 3)
    x = g.pick(F32, lambda v: v.rank == rank + 2,
               lambda: g.draw(g.shape(rank + 2)))
    kernel = [g.integer(1, 4) for _ in range(rank)]
    if any(x.shape[2 + d] < kernel[d] for d in range(rank)):
        return False
    attributes = dict(kernel_shape=kernel,
                      strides=[g.integer(1, 3) for _ in range(rank)],
                      pads=[g.integer(0, kernel[d % rank])
                            for d in range(2 * rank)])
    if op == "AveragePool":
        attributes["count_include_pad"] = g.integer(0, 2)
    # Of windows that end beyond the padding the reference counts one too few.
    pads = attributes["pads"]
    if any((x.shape[2 + d] + pads[d] + pads[rank + d] - kernel[d])
           % attributes["strides"][d] for d in range(rank)):
        return False
    return g.add(op, [x], op == "AveragePool", **attributes)


# Reductions and normalisation. ------------------------------------------------

@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
          "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", weight=2)
@last
def reduce_(g: Graph, op):
    x = g.tensor(least=1)
    count = g.integer(1, x.rank + 1)
    axes = sorted(g.rng.permutation(x.rank)[:count].tolist())
    if g.chance(0.3):
        axes = [a - x.rank for a in axes]
    return g.add(op, [x, g.constant(axes)], op not in ("ReduceMax",
                                                       "ReduceMin"),
                 keepdims=g.integer(0, 2))


@operator("ArgMax", "ArgMin")
@last
def select(g: Graph, op):
    x = g.tensor(least=1, exact=True)
    return g.add(op, [x], False, axis=g.integer(-x.rank, x.rank),
                 keepdims=g.integer(0, 2))


@operator("Softmax", "LogSoftmax", weight=2)
@last
def softmax(g: Graph, op):
    x = g.tensor(least=1)
    if np.any(abs(x.array) > 30):
        return False
    return g.add(op, [x], axis=g.integer(-x.rank, x.rank))


@operator(weight=2)
def layer_norm(g: Graph):
    x = g.tensor(least=1)
    axis = g.integer(0, x.rank)
    # A variance near zero makes noise of rounding.
    rest = tuple(range(axis, x.rank))
    if np.any(np.var(x.array, axis=rest) < 0.05):
        return False
    operands = [x, g.given(g.draw(x.shape[axis:]))]
    if g.chance(0.6):
        operands.append(g.given(g.draw(x.shape[axis:])))
    return g.add("LayerNormalization", operands, axis=axis)


@operator()
def cumulative_sum(g: Graph):
    x = g.tensor(least=1)
    return g.add("CumSum", [x, g.constant(g.integer(0, x.rank))],
                 exclusive=g.integer(0, 2), reverse=g.integer(0, 2))
