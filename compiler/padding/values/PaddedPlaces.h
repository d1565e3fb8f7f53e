//===- PaddedPlaces.h - Places of a small tensor in a large one -----------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace frit {

/// Sizes of a dimension in a small and in a large tensor, and how many elements
/// of the large one are before the small one's first.
struct SizePair {
  int64_t small, large;
  int64_t offset = 0; ///< at most large - small
  bool operator==(const SizePair &) const = default;
};

/// Maps the indices of a small tensor's dimension into a large tensor's: the
/// dimension is split into parts, outermost first, and in each part indices are
/// equal, but for its offset. A single part without one means the leading
/// indices. For example 2x3 in 2x4, folded to 6 in 8, has the parts (2, 2) and
/// (3, 4). Entries [3, 9) of a table are in its entries [2, 10) from 1 on.
using DimPlaces = llvm::SmallVector<SizePair, 2>;

/// The places of all dimensions of a tensor.
using Places = llvm::SmallVector<DimPlaces, 4>;

/// Takes the outermost part, of `length` in the large dimension, from a
/// dimension's places, which are reversed, and returns its small size. A part
/// with all of its elements is one with the part before it.
std::optional<int64_t> takePart(DimPlaces &reversed, int64_t length);

/// Returns the places of the leading elements in every dimension.
Places leadingPlaces(llvm::ArrayRef<int64_t> small,
                     llvm::ArrayRef<int64_t> large);

/// Return whether the places are the leading indices of a dimension, or the
/// leading elements of a tensor.
inline bool isLeading(const DimPlaces &dim) {
  return dim.size() == 1 && dim.front().offset == 0;
}
bool areLeading(const Places &places);

/// Returns whether a dimension has no padding.
bool areSame(const DimPlaces &dim);

/// Returns whether the first index of a dimension is not the first one of the
/// large tensor's.
bool hasOffset(const DimPlaces &dim);

/// Returns the places after reshaping both tensors, or nothing if they cannot
/// be expressed.
std::optional<Places> reshapePlaces(const Places &places,
                                    llvm::ArrayRef<int64_t> small,
                                    llvm::ArrayRef<int64_t> large);

/// Returns a text for messages and keys: "[2:2,3:4][8:8]".
std::string placesText(const Places &places);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDPLACES_H
