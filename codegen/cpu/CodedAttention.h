//===- CodedAttention.h - Attention to caches of codes --------------------===//

#ifndef FRIT_CODEGEN_CPU_CODEDATTENTION_H
#define FRIT_CODEGEN_CPU_CODEDATTENTION_H

#include "dialects/nn/StridedView.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::cpu {

/// Codes of 8 bits and the f32 by which the numbers of a row are multiplied.
struct Codes {
  mlir::Value codes, scales;
  nn::Code code;
  llvm::SmallVector<mlir::Operation *> ops; ///< that make the numbers
};

/// Matches numbers that are computed from codes, a factor for each row:
///   (codes - 128) · scales, or e4m3 numbers · scales, perhaps cast
std::optional<Codes> matchCodes(mlir::Value numbers);

/// Keys or values that are codes: AttentionInfo has where the codes lie.
struct CodedRows {
  nn::Code code;
  nn::AttentionOperand scales;
};

/// An attention whose keys or values its kernel may have to decode.
struct CodedAttention {
  nn::AttentionInfo info;
  std::optional<CodedRows> keys, values;
};

/// Describes a fusion of an attention, the data movement around it, and the
/// operators that make its keys or values of codes.
std::optional<CodedAttention> describeCodedAttention(nn::FusionOp fusion);

/// Returns whether a fusion makes numbers of codes and does nothing else.
bool decodes(nn::FusionOp fusion);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CODEDATTENTION_H
