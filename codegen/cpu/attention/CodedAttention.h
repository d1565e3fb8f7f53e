//===- CodedAttention.h - Attention to caches of codes --------------------===//

#ifndef FRIT_CODEGEN_CPU_ATTENTION_CODEDATTENTION_H
#define FRIT_CODEGEN_CPU_ATTENTION_CODEDATTENTION_H

#include "dialects/nn/StridedView.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::cpu {

/// Codes of 8 bits and the f32 by which the numbers of a row are multiplied.
struct Codes {
  mlir::Value codes, scales;
  nn::Code code;
  llvm::SmallVector<mlir::Operation *> ops; ///< that make the numbers
};

/// Returns the number in all elements of a constant.
std::optional<double> splatOf(mlir::Value value);

/// Matches numbers that are computed from codes, a factor for each row:
///   (codes - 128) · scales, or e4m3 numbers · scales, perhaps cast
std::optional<Codes> matchCodes(mlir::Value numbers);

/// Keys or values that are codes: AttentionInfo has where the codes lie.
struct CodedRows {
  nn::Code code;
  nn::AttentionOperand scales;
};

/// How keys are hidden from a query: by ranges, by -inf that is added to their
/// scores, or by a bool for each.
enum class MaskForm { ranges, added, shown };

/// An attention as its kernel computes it. It may decode keys or values, and
/// replace scores x by cap · tanh(x / cap).
struct CodedAttention {
  nn::AttentionInfo info; ///< without an operator if scores are capped
  std::optional<CodedRows> keys, values;
  MaskForm mask = MaskForm::ranges;
  std::optional<float> cap;
};

/// Describes a fusion of an attention, the data movement around it, and the
/// operators that make its keys or values of codes.
std::optional<CodedAttention> describeCodedAttention(nn::FusionOp fusion);

/// Describes a fusion of the products of an attention with capped scores, and
/// of all between them:
///   softmax(where(shown, cap · tanh(q · kᵀ · scale / cap), -inf)) · v
std::optional<CodedAttention> describeCappedAttention(nn::FusionOp fusion);

/// Returns whether a fusion makes numbers of codes and does nothing else.
bool decodes(nn::FusionOp fusion);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_ATTENTION_CODEDATTENTION_H
