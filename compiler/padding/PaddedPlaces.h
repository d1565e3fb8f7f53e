//===- PaddedPlaces.h - Where a small tensor lies in a large one ----------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDPLACES_H
#define FRIT_COMPILER_PADDING_PADDEDPLACES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace frit {

/// A dimension's sizes in a small and in a large tensor.
struct SizePair {
  int64_t small, large;
  bool operator==(const SizePair &) const = default;
};

/// Where the indices of a dimension of a small tensor are in a large one's: the
/// dimension is taken apart into several, outermost first, and in each of these
/// an index is at its own place. One part is the leading indices; 2x3 in 2x4,
/// folded to 6 in 8, has the parts (2, 2) and (3, 4).
using DimPlaces = llvm::SmallVector<SizePair, 2>;

/// The same for all dimensions of a tensor.
using Places = llvm::SmallVector<DimPlaces, 4>;

/// The leading elements in every dimension.
Places leadingPlaces(llvm::ArrayRef<int64_t> small,
                     llvm::ArrayRef<int64_t> large);

/// Whether they are the leading indices, or elements.
inline bool isLeading(const DimPlaces &dim) { return dim.size() == 1; }
bool areLeading(const Places &places);

/// What becomes of them when both tensors are reshaped; nothing where that is
/// no such thing any more.
std::optional<Places> reshapePlaces(const Places &places,
                                    llvm::ArrayRef<int64_t> small,
                                    llvm::ArrayRef<int64_t> large);

/// For messages and as a key: "[2:2,3:4][8:8]".
std::string placesText(const Places &places);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDPLACES_H
