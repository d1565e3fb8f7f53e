//===- PaddedLoops.h - Map an operator's loops to larger ones -------------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDLOOPS_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDLOOPS_H

#include "compiler/padding/values/PaddedValue.h"

#include "mlir/IR/AffineMap.h"

namespace frit {

/// Maps the loops of an operator on small tensors to those on large ones.
class PaddedLoops {
public:
  PaddedLoops(llvm::ArrayRef<int64_t> small, llvm::ArrayRef<int64_t> large)
      : small(small), large(large), places(small.size()),
        mustLead(small.size()) {}

  /// Adds an operand that both read by these maps. Returns false if they
  /// differ.
  bool read(const PaddedValue &operand, mlir::AffineMap a, mlir::AffineMap b);
  /// Adds a hint from a tensor that the body reads at the loop's own index.
  void suggest(unsigned loop, const DimPlaces &dim);
  /// Determines the places of every loop. Returns false if a loop that must be
  /// leading is not.
  bool finish();

  const DimPlaces &operator[](unsigned loop) const { return *places[loop]; }

  /// Returns the places of a result that is written by this map.
  std::optional<PaddedValue> write(mlir::Value to, mlir::AffineMap map) const;

private:
  llvm::ArrayRef<int64_t> small, large;
  llvm::SmallVector<std::optional<DimPlaces>> places;
  llvm::SmallVector<bool> mustLead;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDLOOPS_H
