# RUN: %python %s
"""Elementwise operators, on all kinds of element types."""
import math

import ml_dtypes
import numpy as np

from harness import NAMES, case, random, run

f32, f64, f16 = np.float32, np.float64, np.float16
x, y = random(4, 5), random(5, seed=1)
positive = random(3, 4, low=0.1, high=4)
unit = random(3, 4, low=-0.95, high=0.95)
i32 = np.array([[7, -7, 8], [-8, 0, 5]], np.int32)
j32 = np.array([3, 3, -3], np.int32)
u8 = np.array([0, 1, 200, 255], np.uint8)
v8 = np.array([255, 3, 7, 254], np.uint8)
special = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], f32)

# Arithmetic, with broadcasting and every element type.
for dtype in (f32, f64, f16, np.int64, np.uint16):
    a = random(2, 3, 4, dtype=f32, low=1, high=9).astype(dtype)
    b = random(3, 1, dtype=f32, low=1, high=9, seed=5).astype(dtype)
    case("add", [a, b], a + b)
    case("sub", [b, a], b - a)
    case("mul", [a, b], a * b)
    case("max", [a, b], np.maximum(a, b))
    case("min", [a, b], np.minimum(a, b))
case("add", [x[0, 0], y], x[0, 0] + y)
case("mul", [np.float32(3), np.float32(5)], np.float32(15))
case("add", [np.zeros((0, 3), f32), y[:3]], np.zeros((0, 3), f32))
case("div", [x, y], x / y)
case("div", [i32, j32], np.trunc(i32 / j32).astype(np.int32))
case("div", [v8, np.maximum(u8, 1)], v8 // np.maximum(u8, 1))
for dtype in (np.int8, np.int16, np.int32, np.int64):
    least = np.iinfo(dtype).min
    edge = np.array([least, least + 1, 7, least, -1], dtype)
    by = np.array([-1, -1, -1, 1, least], dtype)
    with np.errstate(over="ignore"):
        case("div", [edge, by], np.array([least, -(least + 1), -7, least, 0],
                                         dtype))
        case("mod", [edge, by], np.mod(edge, by))
        case("mod", [edge, by], np.fmod(edge, by), "fmod = 1 : si64")
case("max", [special, np.zeros(5, f32)], np.maximum(special, 0))
case("max", [u8, v8], np.maximum(u8, v8))
case("mod", [i32, j32], np.mod(i32, j32))
case("mod", [i32, j32], np.fmod(i32, j32), "fmod = 1 : si64")
case("mod", [x, y], np.fmod(x, y), "fmod = 1 : si64")
case("mod", [v8, np.maximum(u8, 1)], v8 % np.maximum(u8, 1))
case("pow", [positive, random(4)], positive ** random(4))
case("pow", [x, np.array(2, np.int64)], x ** 2)
case("pow", [x, np.array(3, f32)], x ** 3)
case("pow", [i32, np.array(2, np.int32)], i32 ** 2)
case("neg", [x], -x)
case("neg", [i32], -i32)
case("abs", [x], abs(x))
case("abs", [i32], abs(i32))
case("sign", [special], np.sign(special))
case("sign", [i32], np.sign(i32))
case("sign", [u8], np.sign(u8))

# Functions of floats.
erf = np.vectorize(math.erf)
for dtype in (f32, f64, f16):
    a, p, u = (v.astype(dtype) for v in (x, positive, unit))
    for op, arg, function in [
            ("exp", a, np.exp), ("log", p, np.log), ("sqrt", p, np.sqrt),
            ("rsqrt", p, lambda v: 1 / np.sqrt(v)),
            ("reciprocal", p, lambda v: 1 / v), ("sin", a, np.sin),
            ("cos", a, np.cos), ("tan", u, np.tan), ("asin", u, np.arcsin),
            ("acos", u, np.arccos), ("atan", a, np.arctan),
            ("sinh", a, np.sinh), ("cosh", a, np.cosh),
            ("asinh", a, np.arcsinh), ("acosh", p + 1, np.arccosh),
            ("atanh", u, np.arctanh), ("tanh", a, np.tanh), ("erf", a, erf),
            ("floor", a, np.floor), ("ceil", a, np.ceil)]:
        wide = arg.astype(f64)
        case(op, [arg], function(wide).astype(dtype))
half = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6], f32)
case("round", [half], np.round(half))
case("round", [half.astype(f16)], np.round(half).astype(f16))

# Comparison and logic.
for op, function in [("equal", np.equal), ("less", np.less),
                     ("less_equal", np.less_equal), ("greater", np.greater),
                     ("greater_equal", np.greater_equal)]:
    case(op, [x, x[::-1]], function(x, x[::-1]))
    case(op, [special, special], function(special, special))
    case(op, [i32, j32], function(i32, j32))
    case(op, [u8, v8], function(u8, v8))
p, q = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
case("equal", [p, q], p == q)
case("and", [p, q], p & q)
case("or", [p, q], p | q)
case("xor", [p, q], p ^ q)
case("not", [p], ~p)
case("is_nan", [special], np.isnan(special))
case("is_nan", [special.astype(f16)], np.isnan(special))
case("where", [p, x[:, :4], np.float32(7)], np.where(p, x[:, :4], f32(7)))
case("where", [p, u8, v8], np.where(p, u8, v8))
case("where", [p, q, p], np.where(p, q, p))

# Bits.
for a, b in ((u8, v8), (i32, j32)):
    case("bitwise_and", [a, b], a & b)
    case("bitwise_or", [a, b], a | b)
    case("bitwise_xor", [a, b], a ^ b)
    case("bitwise_not", [a], ~a)
places = np.array([0, 1, 7, 9], np.uint8)
case("bit_shift", [v8, places], np.array([255, 6, 128, 0], np.uint8),
     'direction = "LEFT"')
case("bit_shift", [v8, places], np.array([255, 1, 0, 0], np.uint8),
     'direction = "RIGHT"')
for dtype in (np.int8, np.int32, np.int64):
    bits = np.iinfo(dtype).bits
    for direction, expected in (("LEFT", [-128 << bits - 8, 0, 0, -2]),
                                ("RIGHT", [-1, -1, 0, -1])):
        case("bit_shift", [np.array([-128 << bits - 8, -3, 5, -1], dtype),
                           np.array([0 if direction == "LEFT" else bits - 1,
                                     bits, -1, 1], dtype)],
             np.array(expected, dtype), f'direction = "{direction}"')

# Casts.
case("cast", [x], x.astype(f16), "to = f16")
case("cast", [x.astype(f16)], x.astype(f16).astype(f32), "to = f32")
case("cast", [x], x.astype(f64), "to = f64")
case("cast", [x], np.trunc(x).astype(np.int32), "to = i32")
big = np.array([-1e10, 1e10, -5.9, 300, np.nan], f32)
case("cast", [big], np.array([-128, 127, -5, 127, 0], np.int8), "to = i8")
case("cast", [big], np.array([0, 255, 0, 255, 0], np.uint8), "to = ui8")
case("cast", [big], np.array([1, 1, 1, 1, 1], bool), "to = i1")
for dtype in (np.int8, np.int16, np.int32, np.int64,
              np.uint8, np.uint16, np.uint32, np.uint64):
    info = np.iinfo(dtype)
    far = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, -0.9], f32)
    case("cast", [far], np.array([info.max, info.min, 0, info.max, info.min, 0],
                                 dtype), f"to = {NAMES[np.dtype(dtype).name]}")
case("cast", [u8], u8.astype(f32), "to = f32")
case("cast", [u8], u8.astype(np.int64), "to = i64")
case("cast", [u8], u8.astype(np.int8), "to = i8")
case("cast", [i32], i32.astype(np.int8), "to = i8")
case("cast", [i32], i32.astype(f64), "to = f64")
case("cast", [i32], i32 != 0, "to = i1")
case("cast", [p], p.astype(f32), "to = f32")
case("cast", [p], p.astype(np.int64), "to = i64")
try:
    import ml_dtypes
    bf16 = ml_dtypes.bfloat16
    case("add", [x.astype(bf16), y.astype(bf16)],
         x.astype(bf16) + y.astype(bf16))
    case("exp", [x.astype(bf16)],
         np.exp(x.astype(bf16).astype(f32)).astype(bf16))
    case("cast", [x], x.astype(bf16), "to = bf16")
    case("cast", [x.astype(bf16)], x.astype(bf16).astype(f16), "to = f16")
except ImportError:
    pass

# Small types: every code, and numbers around what they hold.
wild = np.concatenate([random(60, low=-20, high=20), random(20) / 64,
                       [0, -0.0, 1e6, -1e6, 448, 449, 464, 465, 57344, 61440,
                        2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -11, np.inf, -np.inf,
                        np.nan]]).astype(np.float32)
for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
             "float8_e5m2fnuz", "float4_e2m1fn"):
    small = np.dtype(getattr(ml_dtypes, name))
    codes = np.arange(16 if "4_" in name else 256, dtype=np.uint8).view(small)
    for wide in (np.float32, np.float16):
        case("cast", [codes], codes.astype(wide), f"to = {NAMES[np.dtype(wide).name]}")
    most = float(ml_dtypes.finfo(small).max)
    kept = np.clip(wild, -most, most).astype(small)
    case("cast", [wild], kept, f"to = {NAMES[name]}")
    if "8" in name:
        case("cast", [wild], wild.astype(small), f"to = {NAMES[name]}, wraps")
exponents = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)
case("cast", [exponents], exponents.astype(np.float32), "to = f32")
positive = np.array([1, 1.5, 2, 3, 0.75, 0.76, 5e-39], np.float32)
for rule, codes in (("up", [127, 128, 128, 129, 127, 127, 1]),
                    ("down", [127, 127, 128, 128, 126, 126, 0]),
                    ("nearest", [127, 128, 128, 129, 127, 127, 0])):
    case("cast", [positive],
         np.array(codes, np.uint8).view(ml_dtypes.float8_e8m0fnu),
         f'to = f8E8M0FNU, round = "{rule}"')
counts = np.arange(-9, 17, dtype=np.float32)
for bits in (4, 2):
    low = counts.astype(np.int64) & (1 << bits) - 1
    signed = low - (low >> (bits - 1) << bits)
    for name, values in ((f"int{bits}", signed), (f"uint{bits}", low)):
        # One byte each, as in the runtime.
        plain = values.astype(name.rstrip("42") + "8")
        small = plain.view(getattr(ml_dtypes, name))
        case("cast", [counts], small, f"to = {NAMES[name]}")
        case("cast", [small], plain.astype(np.int32), "to = i32")

x = random(9)
for v, to in ((x, np.int32), (x.astype(np.float64), np.uint64),
              (x.astype(np.float16), np.int16), (x > 0, np.uint8),
              (x.view(np.int32), np.float32),
              (x.astype(np.float16).view(np.uint16), np.float16)):
    case("bit_cast", [v], v.view(to), f"to = {NAMES[np.dtype(to).name]}", 1e-7)
run()
