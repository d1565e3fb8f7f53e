//===- Activation.cpp - The nonlinearities of networks --------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

/// The derivative of gelu at `x`.
static Scalar geluSlope(ScalarBuilder &s, Scalar x, bool isTanh) {
  if (!isTanh)
    return 0.5 * (1.0 + s.erf(x * 0.7071067811865476)) +
           0.3989422804014327 * x * s.exp(-0.5 * x * x);
  // Above the bound the slope is 0 or 1, and products may not overflow.
  constexpr double bound = 1e4, inner = 0.7978845608028654;
  Scalar square = s.min(x * x, s.constant(bound, x));
  Scalar t = s.tanh(inner * x * (1.0 + 0.044715 * square));
  return 0.5 * (1.0 + t) + 0.5 * inner * x * ((1.0 - t) * (1.0 + t)) *
                               (1.0 + 3 * 0.044715 * square);
}

#define GET_OP_CLASSES
#include "dialects/nn/Activation.cpp.inc"
