//===- PaddedPick.h - Elements that the data choose -----------------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDPICK_H
#define FRIT_COMPILER_PADDING_PADDEDPICK_H

#include "compiler/padding/SizeSamples.h"
#include "compiler/padding/values/PaddedValue.h"

#include "dialects/nn/NN.h"

namespace frit {

/// The dimension in which indices of the data count, of a gather or a scatter
/// of the large model. Indices are those of the call's elements: negative ones
/// count from its last one.
class PaddedPick {
public:
  /// Returns whether an operator picks elements by its second operand.
  static bool isPick(mlir::Operation *op);

  /// Adds a comparison with a model of these sizes. Returns the operator's
  /// padded value; nothing if other dimensions do not agree, or if a scatter
  /// has updates beyond the small model's that are not masked.
  std::optional<PaddedValue> add(mlir::Operation *small,
                                 llvm::ArrayRef<int64_t> sizes,
                                 mlir::Operation *large,
                                 llvm::ArrayRef<int64_t> largeSizes,
                                 llvm::ArrayRef<PaddedValue> operands);

  /// Returns the numbers that depend on sizes.
  llvm::SmallVector<const SizeSamples *> uses() const;

  /// Makes indices among a call's elements indices among all. Gathers clamp
  /// them to the call's elements, and scatters ignore others.
  ///
  ///   %y = nn.gather %x, %i
  /// ==>
  ///   %j = nn.where (nn.less %i, 0), (nn.add %i, %size), %i
  ///   %y = nn.gather %x, (nn.max (nn.min %j, (nn.sub %size, 1)), 0)
  void apply(mlir::Operation *op,
             llvm::function_ref<mlir::Value(const SizeExpr &)> buildSize) const;

private:
  struct Part {
    int64_t length; ///< in the large model
    SizeSamples sizes;
  };

  bool addPlaces(llvm::ArrayRef<int64_t> sizes, const DimPlaces &places,
                 llvm::ArrayRef<int64_t> largeSizes);

  static bool addTo(llvm::SmallVectorImpl<Part> &parts,
                    llvm::ArrayRef<int64_t> sizes, const DimPlaces &places);

  llvm::SmallVector<Part, 2> parts;
  /// The places of all comparisons, by their sizes.
  std::vector<std::pair<llvm::SmallVector<int64_t>, DimPlaces>> records;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDPICK_H
