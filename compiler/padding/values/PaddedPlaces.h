//===- PaddedPlaces.h - Places of a small tensor in a large one -----------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace frit {

/// Sizes of a dimension in a small and in a large tensor.
struct SizePair {
  int64_t small, large;
  bool operator==(const SizePair &) const = default;
};

/// Maps the indices of a small tensor's dimension into a large tensor's: the
/// dimension is split into parts, outermost first, and in each part indices are
/// equal. A single part means the leading indices. For example 2x3 in 2x4,
/// folded to 6 in 8, has the parts (2, 2) and (3, 4).
using DimPlaces = llvm::SmallVector<SizePair, 2>;

/// The places of all dimensions of a tensor.
using Places = llvm::SmallVector<DimPlaces, 4>;

/// Returns the places of the leading elements in every dimension.
Places leadingPlaces(llvm::ArrayRef<int64_t> small,
                     llvm::ArrayRef<int64_t> large);

/// Return whether the places are the leading indices of a dimension, or the
/// leading elements of a tensor.
inline bool isLeading(const DimPlaces &dim) { return dim.size() == 1; }
bool areLeading(const Places &places);

/// Returns the places after reshaping both tensors, or nothing if they cannot
/// be expressed.
std::optional<Places> reshapePlaces(const Places &places,
                                    llvm::ArrayRef<int64_t> small,
                                    llvm::ArrayRef<int64_t> large);

/// Returns a text for messages and keys: "[2:2,3:4][8:8]".
std::string placesText(const Places &places);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H
