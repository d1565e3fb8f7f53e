//===- Elementwise.td - Elementwise operators --------------------------------===//

include "dialects/nn/Base.td"

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def NN_AddOp : NN_Binary<"add", "Add", [{ x[0] + x[1] }], [Commutative]> {
  let summary = "Sum of two tensors.";
  let vjp = [{ {dy, dy} }];
}
def NN_SubOp : NN_Binary<"sub", "Sub", [{ x[0] - x[1] }]> {
  let summary = "Difference of two tensors.";
  let vjp = [{ {dy, -dy} }];
}
def NN_MulOp : NN_Binary<"mul", "Mul", [{ x[0] * x[1] }], [Commutative]> {
  let summary = "Product of two tensors.";
  let vjp = [{ {dy * x[1], dy * x[0]} }];
}
def NN_DivOp : NN_Binary<"div", "Div", [{ x[0] / x[1] }]> {
  let summary = "Quotient of two tensors; integers divide towards zero.";
  let vjp = [{ {dy / x[1], -dy * y / x[1]} }];
}
def NN_MaxOp : NN_Binary<"max", "", [{ s.max(x[0], x[1]) }], [Commutative]> {
  let summary = "The larger of two elements, NaN if either is.";
  let differentiable = 1;
}
def NN_MinOp : NN_Binary<"min", "", [{ s.min(x[0], x[1]) }], [Commutative]> {
  let summary = "The smaller of two elements, NaN if either is.";
  let differentiable = 1;
}
def NN_ModOp : NN_Binary<"mod", "Mod",
    [{ s.mod(x[0], x[1], getFmod() != 0) }]> {
  let summary = "Remainder with the divisor's sign, or with the dividend's "
                "if `fmod = 1`.";
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b,
                   DefaultValuedAttr<NN_Flag, "0">:$fmod);
  let vjp = [{ {dy, -dy * round((x[0] - y) / x[1])} }];
}
def NN_PowOp : NN_Elementwise<"pow", "Pow", [{ s.pow(x[0], x[1]) }], "t[0]",
                              [], /*sameFrom=*/1> {
  let summary = "`a` to the power of `b`; the result has `a`'s type.";
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b);
  let differentiable = 1;
}
def NN_NegOp : NN_Unary<"neg", "Neg", [{ -x[0] }]> {
  let summary = "Negation.";
  let vjp = [{ {-dy} }];
}
def NN_AbsOp : NN_Unary<"abs", "Abs", [{ s.abs(x[0]) }]> {
  let summary = "Absolute value.";
  let vjp = [{ {dy * sign(x[0])} }];
}
def NN_SignOp : NN_Unary<"sign", "Sign", [{ s.sign(x[0]) }]> {
  let summary = "-1, 0 or 1; NaN stays.";
  let vjp = [{ {::mlir::Value()} }];
}

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

def NN_ExpOp : NN_UnaryFloat<"exp", "Exp", [{ s.exp(x[0]) }]> {
  let summary = "e to the power of x.";
  let vjp = [{ {dy * y} }];
}
def NN_LogOp : NN_UnaryFloat<"log", "Log", [{ s.log(x[0]) }]> {
  let summary = "Natural logarithm.";
  let vjp = [{ {dy / x[0]} }];
}
def NN_SqrtOp : NN_UnaryFloat<"sqrt", "Sqrt", [{ s.sqrt(x[0]) }]> {
  let summary = "Square root.";
  let differentiable = 1;
}
def NN_RsqrtOp : NN_UnaryFloat<"rsqrt", "", [{ s.rsqrt(x[0]) }]> {
  let summary = "Reciprocal of the square root.";
  let vjp = [{ {dy * -0.5 * y * y * y} }];
}
def NN_ReciprocalOp : NN_UnaryFloat<"reciprocal", "Reciprocal",
    [{ 1.0 / x[0] }]> {
  let summary = "1 / x.";
  let vjp = [{ {-dy * y * y} }];
}
def NN_SinOp : NN_UnaryFloat<"sin", "Sin", [{ s.sin(x[0]) }]> {
  let summary = "Sine of radians.";
  let vjp = [{ {dy * cos(x[0])} }];
}
def NN_CosOp : NN_UnaryFloat<"cos", "Cos", [{ s.cos(x[0]) }]> {
  let summary = "Cosine of radians.";
  let vjp = [{ {-dy * sin(x[0])} }];
}
def NN_TanOp : NN_UnaryFloat<"tan", "Tan", [{ s.tan(x[0]) }]> {
  let summary = "Tangent of radians.";
  let vjp = [{ {dy * (1.0 + y * y)} }];
}
def NN_AsinOp : NN_UnaryFloat<"asin", "Asin", [{ s.asin(x[0]) }]> {
  let summary = "Inverse sine.";
  let vjp = [{ {dy * rsqrt((1.0 - x[0]) * (1.0 + x[0]))} }];
}
def NN_AcosOp : NN_UnaryFloat<"acos", "Acos", [{ s.acos(x[0]) }]> {
  let summary = "Inverse cosine.";
  let vjp = [{ {-dy * rsqrt((1.0 - x[0]) * (1.0 + x[0]))} }];
}
def NN_AtanOp : NN_UnaryFloat<"atan", "Atan", [{ s.atan(x[0]) }]> {
  let summary = "Inverse tangent.";
  let vjp = [{ {dy / (1.0 + x[0] * x[0])} }];
}
def NN_SinhOp : NN_UnaryFloat<"sinh", "Sinh", [{ s.sinh(x[0]) }]> {
  let summary = "Hyperbolic sine.";
  let vjp = [{ {dy * cosh(x[0])} }];
}
def NN_CoshOp : NN_UnaryFloat<"cosh", "Cosh", [{ s.cosh(x[0]) }]> {
  let summary = "Hyperbolic cosine.";
  let vjp = [{ {dy * sinh(x[0])} }];
}
def NN_AsinhOp : NN_UnaryFloat<"asinh", "Asinh", [{ s.asinh(x[0]) }]> {
  let summary = "Inverse hyperbolic sine.";
  let vjp = [{ {dy * rsqrt(x[0] * x[0] + 1.0)} }];
}
def NN_AcoshOp : NN_UnaryFloat<"acosh", "Acosh", [{ s.acosh(x[0]) }]> {
  let summary = "Inverse hyperbolic cosine.";
  let vjp = [{ {dy * rsqrt((x[0] - 1.0) * (x[0] + 1.0))} }];
}
def NN_AtanhOp : NN_UnaryFloat<"atanh", "Atanh", [{ s.atanh(x[0]) }]> {
  let summary = "Inverse hyperbolic tangent.";
  let vjp = [{ {dy / ((1.0 - x[0]) * (1.0 + x[0]))} }];
}
def NN_TanhOp : NN_UnaryFloat<"tanh", "Tanh", [{ s.tanh(x[0]) }]> {
  let summary = "Hyperbolic tangent.";
  let vjp = [{ {dy * (1.0 - y * y)} }];
}
def NN_ErfOp : NN_UnaryFloat<"erf", "Erf", [{ s.erf(x[0]) }]> {
  let summary = "The error function.";
  let vjp = [{ {dy * 1.1283791670955126 * exp(-x[0] * x[0])} }];
}
def NN_FloorOp : NN_UnaryFloat<"floor", "Floor", [{ s.floor(x[0]) }]> {
  let summary = "Rounds down.";
  let vjp = [{ {::mlir::Value()} }];
}
def NN_CeilOp : NN_UnaryFloat<"ceil", "Ceil", [{ s.ceil(x[0]) }]> {
  let summary = "Rounds up.";
  let vjp = [{ {::mlir::Value()} }];
}
def NN_RoundOp : NN_UnaryFloat<"round", "Round", [{ s.round(x[0]) }]> {
  let summary = "Rounds to the nearest integer, halves to even.";
  let vjp = [{ {::mlir::Value()} }];
}

//===----------------------------------------------------------------------===//
// Comparison and logic
//===----------------------------------------------------------------------===//

def NN_EqualOp : NN_Compare<"equal", "Equal",
    [{ s.compare(ScalarBuilder::Compare::eq, x[0], x[1]) }]> {
  let summary = "Whether two elements are equal; NaN never is.";
}
def NN_LessOp : NN_Compare<"less", "Less", [{ x[0] < x[1] }]> {
  let summary = "a < b.";
}
def NN_LessEqualOp : NN_Compare<"less_equal", "LessOrEqual",
    [{ x[0] <= x[1] }]> {
  let summary = "a <= b.";
}
def NN_GreaterOp : NN_Compare<"greater", "Greater", [{ x[0] > x[1] }]> {
  let summary = "a > b.";
}
def NN_GreaterEqualOp : NN_Compare<"greater_equal", "GreaterOrEqual",
    [{ x[0] >= x[1] }]> {
  let summary = "a >= b.";
}
def NN_AndOp : NN_Logical<"and", "And", [{ s.bitAnd(x[0], x[1]) }]> {
  let summary = "Logical and.";
}
def NN_OrOp : NN_Logical<"or", "Or", [{ s.bitOr(x[0], x[1]) }]> {
  let summary = "Logical or.";
}
def NN_XorOp : NN_Logical<"xor", "Xor", [{ s.bitXor(x[0], x[1]) }]> {
  let summary = "Logical exclusive or.";
}
def NN_NotOp : NN_Elementwise<"not", "Not", [{ s.bitNot(x[0]) }], "t[0]"> {
  let summary = "Logical not.";
  let arguments = (ins NN_BoolTensor:$x);
  let discrete = 1;
}
def NN_IsNaNOp : NN_Elementwise<"is_nan", "IsNaN", [{ s.isNaN(x[0]) }],
    "::mlir::IntegerType::get(context, 1)"> {
  let summary = "Whether an element is NaN.";
  let arguments = (ins NN_FloatTensor:$x);
  let discrete = 1;
}
def NN_WhereOp : NN_Elementwise<"where", "Where",
    [{ s.select(x[0], x[1], x[2]) }], "t[1]", [], /*sameFrom=*/1> {
  let summary = "`a` where `condition` is true, else `b`, elementwise.";
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$a, NN_Tensor:$b);
  let vjp = [{ {::mlir::Value(), where(x[0], dy, 0.0), where(x[0], 0.0, dy)} }];
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

def NN_BitwiseAndOp : NN_Bitwise<"bitwise_and", "BitwiseAnd",
    [{ s.bitAnd(x[0], x[1]) }], [Commutative]> {
  let summary = "Bits that are set in both integers.";
}
def NN_BitwiseOrOp : NN_Bitwise<"bitwise_or", "BitwiseOr",
    [{ s.bitOr(x[0], x[1]) }], [Commutative]> {
  let summary = "Bits that are set in either integer.";
}
def NN_BitwiseXorOp : NN_Bitwise<"bitwise_xor", "BitwiseXor",
    [{ s.bitXor(x[0], x[1]) }], [Commutative]> {
  let summary = "Bits that are set in exactly one of the integers.";
}
def NN_BitwiseNotOp : NN_Elementwise<"bitwise_not", "BitwiseNot",
    [{ s.bitNot(x[0]) }], "t[0]"> {
  let summary = "Inverts all bits.";
  let arguments = (ins NN_IntegerTensor:$x);
  let discrete = 1;
}

def NN_ShiftDirection : AttrConstraint<
    CPred<"::llvm::cast<::mlir::StringAttr>($_self) == \"LEFT\" || "
          "::llvm::cast<::mlir::StringAttr>($_self) == \"RIGHT\"">,
    "that is LEFT or RIGHT">;

def NN_BitShiftOp : NN_Bitwise<"bit_shift", "BitShift",
    [{ getDirection() == "LEFT" ? s.shiftLeft(x[0], x[1])
                                : s.shiftRight(x[0], x[1]) }]> {
  let summary = "Shifts the bits of `a` by `b`; arithmetic for signed integers.";
  let arguments = (ins NN_IntegerTensor:$a, NN_IntegerTensor:$b,
                   ConfinedAttr<StrAttr, [NN_ShiftDirection]>:$direction);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def NN_RoundingKind : AttrConstraint<
    CPred<"::llvm::is_contained({\"up\", \"down\", \"nearest\"}, "
          "::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "that is up, down or nearest">;

def NN_CastOp : NN_Elementwise<"cast", "",
    [{ s.convert(x[0], tensorType(getX()).getElementType(), getTo(),
                 {getWraps(), getRound(),
                  roundsTo16Bits() && !getStorage()}) }], "op.getTo()"> {
  let summary = "Converts elements to another type.";
  let description = [{
    Floats convert to integers by rounding towards zero and saturating; to bool,
    anything but 0 is true. Floats convert to narrower floats by rounding to
    nearest even.

    `storage` marks casts that the compiler added for speed: the value is
    rounded only in memory. Readers in the same kernel may see it before
    rounding, and such casts may merge.

    8-bit floats saturate too. With `wraps`, values out of range become
    infinity, or NaN if the type has no infinity. Integers of 4 and 2 bits keep
    the low bits. `round` is the rounding to `f8E8M0FNU`, which has only powers
    of two: `up`, `down` or `nearest`.
  }];
  let arguments = (ins NN_Tensor:$x, TypeAttr:$to, UnitAttr:$wraps,
                   DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_RoundingKind]>,
                                     "\"up\"">:$round,
                   UnitAttr:$storage);
  let extraMethods = [{
    /// Returns whether a wider type is rounded to a 16-bit float.
    bool roundsTo16Bits();
  }];
  let hasFolder = 1;
  let vjp = [{ {dy} }];
}

def NN_BitCastOp : NN_Elementwise<"bit_cast", "",
    [{ s.bitCast(x[0], tensorType(getX()).getElementType(), getTo()) }],
    "op.getTo()"> {
  let summary = "Reinterprets the bits as another type of the same width.";
  let arguments = (ins NN_Tensor:$x, TypeAttr:$to);
  let discrete = 1;
}
