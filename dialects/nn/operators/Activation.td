//===- Activation.td - Activation functions -------------------------------===//

include "dialects/nn/Base.td"

def NN_ReluOp : NN_Unary<"relu", "Relu", [{ s.max(x[0], s.constant(0, x[0])) }]> {
  let summary = "max(x, 0).";
  let vjp = [{ {where(y > 0.0, dy, 0.0)} }];
}
def NN_SigmoidOp : NN_UnaryFloat<"sigmoid", "Sigmoid", [{ s.sigmoid(x[0]) }]> {
  let summary = "1 / (1 + e^-x).";
  let vjp = [{ {dy * y * (1.0 - y)} }];
}
def NN_SiluOp : NN_UnaryFloat<"silu", "", [{ x[0] * s.sigmoid(x[0]) }]> {
  let summary = "x · sigmoid(x).";
  let vjp = [{ {dy * sigmoid(x[0]) * (1.0 + x[0] * sigmoid(-x[0]))} }];
}
def NN_SoftplusOp : NN_UnaryFloat<"softplus", "Softplus",
    [{ s.softplus(x[0]) }]> {
  let summary = "log(1 + e^x).";
  let vjp = [{ {dy * sigmoid(x[0])} }];
}
def NN_MishOp : NN_UnaryFloat<"mish", "Mish",
    [{ x[0] * s.tanh(s.softplus(x[0])) }]> {
  let summary = "x · tanh(softplus(x)).";
  let vjp = [{
    {dy * (tanh(softplus(x[0])) + x[0] * sigmoid(x[0]) *
           (1.0 - tanh(softplus(x[0])) * tanh(softplus(x[0]))))} }];
}
def NN_SoftsignOp : NN_UnaryFloat<"softsign", "Softsign",
    [{ x[0] / (1.0 + s.abs(x[0])) }]> {
  let summary = "x / (1 + |x|).";
  let vjp = [{ {dy / (1.0 + abs(x[0])) / (1.0 + abs(x[0]))} }];
}
def NN_HardSwishOp : NN_UnaryFloat<"hard_swish", "HardSwish",
    [{ x[0] * s.min(s.max(x[0] * (1.0 / 6) + 0.5, s.constant(0, x[0])),
                    s.constant(1, x[0])) }]> {
  let summary = "x · clamp(x / 6 + 1/2, 0, 1).";
  let vjp = [{
    {where(x[0] <= -3.0, 0.0,
           where(x[0] >= 3.0, dy, dy * (x[0] * (1.0 / 3) + 0.5)))} }];
}
def NN_LeakyReluOp : NN_UnaryFloat<"leaky_relu", "LeakyRelu",
    [{ s.select(x[0] < 0.0, x[0] * getAlpha().convertToDouble(), x[0]) }]> {
  let summary = "x where x >= 0, else alpha · x.";
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<NN_FiniteAttr, "0.01f">:$alpha);
  let vjp = [{ {where(x[0] > 0.0, dy, dy * getAlpha().convertToDouble())} }];
}
def NN_EluOp : NN_UnaryFloat<"elu", "Elu",
    [{ s.select(x[0] < 0.0, (s.exp(x[0]) - 1.0) * getAlpha().convertToDouble(),
                x[0]) }]> {
  let summary = "x where x >= 0, else alpha · (e^x - 1).";
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<NN_FiniteAttr, "1.0f">:$alpha);
  let vjp = [{
    {where(x[0] > 0.0, dy, dy * getAlpha().convertToDouble() * exp(x[0]))} }];
}
def NN_SeluOp : NN_UnaryFloat<"selu", "Selu",
    [{ s.select(x[0] > 0.0, x[0],
                (s.exp(x[0]) - 1.0) * getAlpha().convertToDouble()) *
       getGamma().convertToDouble() }]> {
  let summary = "gamma · (x where x > 0, else alpha · (e^x - 1)).";
  let arguments = (ins NN_FloatTensor:$x,
      DefaultValuedAttr<NN_FiniteAttr, "1.67326319217681884765625f">:$alpha,
      DefaultValuedAttr<NN_FiniteAttr, "1.05070102214813232421875f">:$gamma);
  let vjp = [{
    {getGamma().convertToDouble() * where(x[0] > 0.0, dy,
         dy * getAlpha().convertToDouble() * exp(x[0]))} }];
}
def NN_HardSigmoidOp : NN_UnaryFloat<"hard_sigmoid", "HardSigmoid",
    [{ s.min(s.max(x[0] * getAlpha().convertToDouble() +
                       getBeta().convertToDouble(),
                   s.constant(0, x[0])), s.constant(1, x[0])) }]> {
  let summary = "clamp(alpha · x + beta, 0, 1).";
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<NN_FiniteAttr, "0.2f">:$alpha,
                   DefaultValuedAttr<NN_FiniteAttr, "0.5f">:$beta);
  let vjp = [{
    {where((y > 0.0) & (y < 1.0), dy * getAlpha().convertToDouble(), 0.0)} }];
}
def NN_GeluKind : AttrConstraint<
    CPred<"::llvm::cast<::mlir::StringAttr>($_self) == \"none\" || "
          "::llvm::cast<::mlir::StringAttr>($_self) == \"tanh\"">,
    "that is none or tanh">;

def NN_GeluOp : NN_UnaryFloat<"gelu", "Gelu",
    [{ getApproximate() == "tanh"
           ? 0.5 * x[0] * (1.0 + s.tanh(0.7978845608028654 *
                 (x[0] + 0.044715 * x[0] * x[0] * x[0])))
           : 0.5 * x[0] * (1.0 + s.erf(x[0] * 0.7071067811865476)) }]> {
  let summary = "x · Φ(x), or its approximation by tanh.";
  let description = [{
    Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415. Φ is
    the distribution function of the standard normal distribution.
  }];
  let arguments = (ins NN_FloatTensor:$x,
      DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_GeluKind]>,
                        "\"none\"">:$approximate);
  let differentiable = 1;
}

def NN_GeluSlopeOp : NN_UnaryFloat<"gelu_slope", "",
    [{ geluSlope(s, x[0], getApproximate() == "tanh") }]> {
  let summary = "Slope of `gelu` at x.";
  let arguments = (ins NN_FloatTensor:$x,
      DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_GeluKind]>,
                        "\"none\"">:$approximate);
}

def NN_GeluGradOp : NN_Elementwise<"gelu_grad", "",
    [{ x[1] * geluSlope(s, x[0], getApproximate() == "tanh") }], "t[0]"> {
  let summary = "Gradient of `gelu`: its slope at x times dy.";
  let description = [{
    One operator rather than several, so that powers of x are never rounded to
    16 bits.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$dy,
      DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_GeluKind]>,
                        "\"none\"">:$approximate);
}

def NN_GateKind : AttrConstraint<
    CPred<"::llvm::is_contained({\"gelu\", \"gelu_tanh\", \"silu\"}, "
          "::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "that is gelu, gelu_tanh or silu">;

def NN_GateColumnsOp : NN_Composite<"gate_columns", ""> {
  let summary = "Values times an activation of their gates, the columns beside.";
  let description = [{
    Of the last dimension, column 2 i is a value and column 2 i + 1 its gate. Of
    every 16 columns, the first four pairs give elements 0, 2, 4 and 6 of 8, the
    others 1, 3, 5 and 7: x [..., 2 n] gives [..., n]. A thread that has a pair
    of two groups of 8 columns, as threads have of a product's sums, then has
    two neighbours of the result. The epilogue of a matrix product can compute
    them.
  }];
  let arguments = (ins NN_FloatTensor:$x,
                   ConfinedAttr<StrAttr, [NN_GateKind]>:$activation);
  let results = (outs NN_FloatTensor:$y);
}
