//===- MaskValue.h - What an attention mask hides -------------------------===//
//
// Exporters write the same mask in many ways: as a constant, or as operators on
// counters, positions and triangles. Its elements tell what it is.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H

#include "dialects/nn/NN.h"

namespace frit {

/// Scores of at most this count as masked: exp(x - 10000) is 0.
inline constexpr double kMasked = -1e4;

/// A mask by which each query sees the keys of one range, which is not empty.
/// Neither end of the ranges decreases from a query to the next.
struct MaskRanges {
  int64_t batch = 1; ///< 1 if the ranges are those of all batches
  int64_t queries = 0, keys = 0;
  /// Ends of ranges: [batch][query][2].
  std::vector<int32_t> ends;
  /// What all hidden elements of a float mask are; -inf if they differ.
  float hidden = 0;
  bool hiddenDiffer = false;

  /// Whether each query sees all keys, or keys up to its own position.
  bool showAll() const;
  bool areCausal() const;
};

/// Evaluates a mask that depends on constants alone: bools that show keys (hide
/// them if `hides`), or floats that are 0 or at most `kMasked`. Returns nothing
/// if it hides keys in another form.
std::optional<MaskRanges> findMaskRanges(mlir::Value mask, bool hides = false);

/// Returns the ranges of a mask that rewriteConstantMasks() has rewritten,
/// looking through views that keep queries and keys; else nothing.
std::optional<MaskRanges> rangesOf(mlir::Value mask);

/// Returns the keys that both masks show; nothing if a query sees none of them,
/// or the masks differ in shape.
std::optional<MaskRanges> intersect(const MaskRanges &a, const MaskRanges &b);

/// Builds the constant operand of `range_mask`.
mlir::Value buildRanges(nn::NNBuilder &b, const MaskRanges &ranges);

/// Returns, for each dimension of a float mask, the smallest n such that every
/// line along it has a finite element at an index of at most n. Returns nothing
/// if the mask cannot be evaluated.
llvm::SmallVector<int64_t> findFinite(mlir::Value mask);

/// Rewrites masks that depend on constants alone, and have ranges, as
/// `range_mask`, and removes masks that hide nothing.
void rewriteConstantMasks(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
