"""Elementwise operators on floats, and choices."""
import numpy as np

from graphs import BOOL, F16, F32, F64, I32, I64, MOST_ELEMENTS, Graph, type_of

from .table import operator


ANYWHERE = (-np.inf, np.inf)
JUMPS = ("Ceil", "Floor", "Round", "Sign", "ThresholdedRelu", "Shrink")
# Operators that amplify the rounding of a 16-bit argument.
STEEP = ("Exp", "Sinh", "Cosh", "Tan", "Log", "Acosh", "Atanh", "Reciprocal")


def in_range(g: Graph, low, high, shape, dtype=F32):
    """Multiples of 1/32 in the range."""
    low, high = max(low, -2), min(high, 2)
    steps = g.rng.integers(np.ceil(32 * low), np.floor(32 * high) + 1, shape)
    return np.asarray(steps / 32).astype(dtype)


@operator(*[(op, *ANYWHERE) for op in (
    "Abs", "Neg", "Ceil", "Floor", "Round", "Sign", "Relu", "Identity", "Atan",
    "Asinh", "Tanh", "Erf", "Sigmoid", "Softplus", "Softsign", "Mish",
    "HardSwish", "Elu", "Selu", "LeakyRelu", "HardSigmoid", "Gelu", "Celu",
    "ThresholdedRelu", "Shrink", "Swish")],
    ("Sqrt", 0.05, np.inf), ("Reciprocal", 0.2, np.inf), ("Exp", -np.inf, 4),
    ("Reciprocal", -np.inf, -0.2), ("Log", 0.1, np.inf), ("Sin", -50, 50),
    ("Cos", -50, 50), ("Tan", -1.2, 1.2), ("Asin", -0.9, 0.9),
    ("Acos", -0.9, 0.9), ("Sinh", -4, 4), ("Cosh", -4, 4),
    ("Acosh", 1.1, np.inf), ("Atanh", -0.9, 0.9))
def unary(g: Graph, op, low, high):
    dtype = F32 if op in STEEP else g.float_type()
    x = g.pick(dtype, lambda v: (v.exact or op not in JUMPS)
               and low <= v.array.min() and v.array.max() <= high,
               lambda: in_range(g, low, high, g.shape(g.integer(0, 5)), dtype))
    attributes = {}
    if op in ("Elu", "LeakyRelu", "HardSigmoid", "Celu", "ThresholdedRelu",
              "Swish") and g.chance(0.5):
        attributes["alpha"] = g.one_of(0.25, 0.5, 2.0)
    if op == "HardSigmoid" and g.chance(0.5):
        attributes["beta"] = 0.25
    if op == "Selu" and g.chance(0.3):
        attributes.update(alpha=1.5, gamma=0.5)
    if op == "Shrink":
        attributes.update(bias=g.one_of(0.0, 0.25), lambd=g.one_of(0.5, 1.0))
    if op == "Gelu" and g.chance(0.5):
        attributes["approximate"] = "tanh"
    exact = op in (*JUMPS, "Abs", "Neg", "Relu", "Identity")
    return g.add(op, [x], not exact, **attributes)


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
def binary(g: Graph, op):
    dtype = F32 if op == "Pow" else g.float_type()
    x = g.tensor(dtype)
    y = partner(g, x, dtype)
    if g.chance(0.5):
        x, y = y, x
    if op == "Div" and np.any(abs(y.array) < 0.2):
        return False
    if op == "Pow" and (np.any(x.array < 0.1) or np.any(abs(y.array) > 3)):
        return False
    return g.add(op, [x, y], op not in ("Max", "Min"))


@operator()
def power_of_integers(g: Graph):
    x = g.tensor(g.one_of(F32, F64))
    y = g.given(np.asarray(g.one_of(0, 1, 2, 3, 0.5, -1),
                           g.one_of(F32, x.dtype)))
    if np.any(abs(x.array) < 0.2) or (y.array == 0.5 and np.any(x.array < 0)):
        return False
    return g.add("Pow", [x, y])


@operator("Sum", "Mean", "Max", "Min")
def variadic(g: Graph, op):
    dtype = g.one_of(F32, F32, F64)
    x = g.tensor(dtype)
    operands = [x]
    for _ in range(g.integer(0, 4)):
        operands.append(partner(g, x, dtype))
    try:
        np.broadcast_shapes(*(v.shape for v in operands))
    except ValueError:
        return False
    return g.add(op, operands, op in ("Sum", "Mean"))


@operator("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def compare(g: Graph, op):
    dtype = g.any_type()
    if dtype == BOOL and op != "Equal":
        return False
    x = g.tensor(dtype, exact=True)
    return g.add(op, [x, partner(g, x, dtype, exact=True)], False)


@operator("And", "Or", "Xor")
def logical(g: Graph, op):
    x = g.tensor(BOOL)
    return g.add(op, [x, partner(g, x, BOOL)], False)


@operator()
def logical_not(g: Graph):
    return g.add("Not", [g.tensor(BOOL)], False)


@operator("IsNaN", "IsInf")
def classify(g: Graph, op):
    """On values of which some are infinite or NaN."""
    shape = g.shape(g.integer(0, 4))
    x = g.draw(shape, g.one_of(F32, F32, F64, F16))
    odd = np.where(g.rng.random(shape) < 0.5, np.inf, np.nan)
    odd = np.where(g.rng.random(shape) < 0.5, odd, -odd)
    x = np.where(g.rng.random(shape) < 0.3, odd.astype(x.dtype), x)
    attributes = {}
    if op == "IsInf" and g.chance(0.5):
        attributes[g.one_of("detect_negative", "detect_positive")] = 0
    g.given(x, weight=False)
    operand = g.values.pop()  # no other operator may read it
    return g.add(op, [operand], False, **attributes)


@operator(weight=2)
def where(g: Graph):
    x = g.any_tensor()
    y = partner(g, x, x.dtype)
    return g.add("Where", [partner(g, x, BOOL), x, y], False)


@operator(weight=2)
def clip(g: Graph):
    x = g.tensor(g.one_of(F32, F32, F64, I32, I64))
    low, high = sorted(g.draw(2, x.dtype).tolist())
    bounds = [g.given(np.asarray(b, x.dtype)) if g.chance(0.8) else None
              for b in (low, high)]
    return g.add("Clip", [x, *bounds], False)


@operator()
def prelu(g: Graph):
    x = g.tensor(g.one_of(F32, F32, F64))
    drop = g.integer(0, x.rank + 1)
    slope = g.given(g.draw([1 if g.chance(0.3) else s
                            for s in x.shape[drop:]], x.dtype))
    return g.add("PRelu", [x, slope])


TYPES = (F32, I64, I32, BOOL)


@operator(*[(a, b) for a in TYPES for b in TYPES if a != b])
def cast(g: Graph, from_, to):
    x = g.tensor(from_, exact=True)
    if g.chance(0.2):
        like = g.given(g.draw((), to))
        return g.add("CastLike", [x, like], False)
    return g.add("Cast", [x], False, to=type_of(to))


@operator(weight=4)
def cast_any(g: Graph):
    x = g.any_tensor(exact=True)
    to = g.any_type()
    if to.kind == "u" and np.any(x.array.astype(np.float64) < 0):
        return False  # C leaves open what a negative float becomes
    if to.kind in "iu" and x.dtype != BOOL:
        info = np.iinfo(to)
        wide = x.array.astype(np.float64)
        if np.any(wide < info.min) or np.any(wide > info.max):
            return False
    return g.add("Cast", [x], to == F16, to=type_of(to))


@operator(weight=2)
def cast_float(g: Graph):
    """Cast, also of rounded values."""
    x = g.tensor(g.float_type())
    return g.add("Cast", [x], True, to=type_of(g.one_of(F16, F32, F64)))


@operator()
def binarizer(g: Graph):
    x = g.tensor(exact=True)
    return g.add("Binarizer", [x], False, domain="ai.onnx.ml",
                 threshold=g.one_of(0.0, 0.5, -1.0))


@operator()
def dropout(g: Graph):
    """Dropout at inference is the identity."""
    x = g.tensor()
    ratio = g.given(np.float32(0.5)) if g.chance(0.5) else None
    operands = [x, ratio] if ratio else [x]
    return g.add("Dropout", operands, False, g.integer(1, 3))


@operator()
def bernoulli(g: Graph):
    """Bernoulli with probabilities 0 and 1."""
    sure = g.given(g.draw(g.shape(2), BOOL).astype(np.float32))
    return g.add("Bernoulli", [sure], False)


@operator("RandomUniformLike", "RandomUniform", "RandomNormalLike",
          "RandomNormal")
def random(g: Graph, op):
    """In what is certain about them: numbers of [1, 2) are 1 when rounded down,
    normal ones times 0 are 0."""
    x = g.tensor(least=1)
    is_like, is_uniform = op.endswith("Like"), "Uniform" in op
    attributes = {} if is_like else dict(shape=[int(s) for s in x.shape])
    if is_uniform:
        attributes.update(low=1.0, high=2.0)
    drawn = g.unchecked(op, [x] if is_like else [],
                        np.full(x.shape, 1.5, F32), **attributes)
    zero = g.constant(0, F32)
    if g.add("Floor", [drawn], False) if is_uniform else \
            g.add("Mul", [drawn, zero], False):
        return True
    g.nodes.pop()
    return False
