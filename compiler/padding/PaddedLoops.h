//===- PaddedLoops.h - Where the loops of an operator are -----------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDLOOPS_H
#define FRIT_COMPILER_PADDING_PADDEDLOOPS_H

#include "compiler/padding/PaddedValue.h"

#include "mlir/IR/AffineMap.h"

namespace frit {

/// The loops of an operator on a small and on a large tensor.
class PaddedLoops {
public:
  PaddedLoops(llvm::ArrayRef<int64_t> small, llvm::ArrayRef<int64_t> large)
      : small(small), large(large), places(small.size()),
        mustLead(small.size()) {}

  /// An operand that both read by these maps. False where they differ.
  bool read(const PaddedValue &operand, mlir::AffineMap a, mlir::AffineMap b);
  /// What a body may read by a loop's own index.
  void suggest(unsigned loop, const DimPlaces &dim);
  /// Settles where every loop is. False where some had to lead and do not.
  bool finish();

  const DimPlaces &operator[](unsigned loop) const { return *places[loop]; }

  /// Where a result is that is written by this map.
  std::optional<PaddedValue> write(mlir::Value to, mlir::AffineMap map) const;

private:
  llvm::ArrayRef<int64_t> small, large;
  llvm::SmallVector<std::optional<DimPlaces>> places;
  llvm::SmallVector<bool> mustLead;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDLOOPS_H
