//===- PaddedJoin.h - Lists that are joined from padded ones --------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDJOIN_H
#define FRIT_COMPILER_PADDING_PADDEDJOIN_H

#include "compiler/padding/SizeSamples.h"
#include "compiler/padding/values/PaddedPlaces.h"

#include "dialects/nn/NN.h"

namespace frit {

/// Where the elements that a call has are along the axis of a concat of the
/// large model, whose operands are padded there. They are moved to the front,
/// in order: boxes that a detector finds on several scales become one list.
class PaddedJoin {
public:
  /// Adds the places of the operands' elements along the axis, for a call with
  /// these sizes. Returns false if they are split differently than before.
  bool add(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<DimPlaces> operands,
           llvm::ArrayRef<int64_t> largeSizes);

  /// Returns the numbers that depend on sizes.
  llvm::SmallVector<const SizeSamples *> uses() const;

  /// Moves the elements of `concat` to the front, for all that read them.
  void apply(nn::ConcatOp concat,
             llvm::function_ref<mlir::Value(const SizeExpr &)> buildSize);

  /// Samples of how many elements there are, by sizes.
  const std::vector<std::pair<llvm::SmallVector<int64_t>, int64_t>> &
  lengths() const {
    return samples;
  }
  /// The number of a call, an i64 scalar; null before apply().
  mlir::Value length() const { return total; }

private:
  struct Part {
    int64_t length; ///< in the large model
    SizeSamples sizes;
  };

  std::vector<llvm::SmallVector<Part, 2>> operands;
  std::vector<std::pair<llvm::SmallVector<int64_t>, int64_t>> samples;
  mlir::Value total;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDJOIN_H
