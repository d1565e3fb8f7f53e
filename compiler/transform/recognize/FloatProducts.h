//===- FloatProducts.h - Products of 8-bit floats -------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_FLOATPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_FLOATPRODUCTS_H

#include "compiler/transform/recognize/QuantizedOperands.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/Target.h"
#include "dialects/nn/rewrites/QuantizedConvs.h"

namespace frit {

inline bool hasFloats(const Scaled &operand) {
  return isFloat8(nn::tensorType(operand.bytes.value).getElementType());
}

/// What a target computes.
struct FloatTarget {
  const nn::Target &target;
  const nn::QuantizedRewrite *wanted; ///< null if it has no wishes
  /// Whether bf16 may be multiplied where the target lacks 8-bit floats.
  bool narrowsFloats;
};

/// Replaces an nn.conv or nn.matmul of static shapes, whose operands are 8-bit
/// floats times scales, by sums of the floats' products and, after them, the
/// scales and the bias. If the target has no kernel for the sums, they are
/// those of bf16, which may be rounded to bf16, if both it and the caller allow
/// that. Returns why the product is not one of 8-bit floats.
nn::Legality rewriteFloats(nn::NNBuilder &b, mlir::Operation *product,
                           const Scaled &left, const Scaled &right,
                           const FloatTarget &on);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_FLOATPRODUCTS_H
