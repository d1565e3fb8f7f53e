//===- Activation.cpp - Activation functions ------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

/// Builds the derivative of gelu at `x`.
static Scalar geluSlope(ScalarBuilder &s, Scalar x, bool isTanh) {
  if (!isTanh)
    return 0.5 * (1.0 + s.erf(x * 0.7071067811865476)) +
           0.3989422804014327 * x * s.exp(-0.5 * x * x);
  // Use the logistic function of 2u instead of tanh(u): GPUs need fewer
  // instructions for it. Above the bound the slope is 0 or 1, and products may
  // not overflow.
  constexpr double bound = 1e4, linear = 1.5957691216057308,
                   cubic = 0.044715 * linear;
  Scalar square = s.min(x * x, s.constant(bound, x));
  Scalar gate = s.sigmoid(x * (linear + cubic * square));
  return gate + gate * (1.0 - gate) * x * (linear + 3 * cubic * square);
}

#define GET_OP_CLASSES
#include "dialects/nn/Activation.cpp.inc"
