//===- StridedRegion.h - A region of a larger tensor, as runs of bytes ----===//

#ifndef FRIT_RUNTIME_EXEC_STRIDEDREGION_H
#define FRIT_RUNTIME_EXEC_STRIDEDREGION_H

#include <cstdint>
#include <span>

namespace frit {

/// Maps a dense tensor of shape `dims` to the leading corner of a larger dense
/// tensor of shape `around` (same rank, both row major). The elements form runs
/// of `runBytes()` contiguous bytes: adjacent runs in the small tensor,
/// `offset(run)` apart in the large one. Keeps references to both shapes.
class StridedRegion {
public:
  StridedRegion(std::span<const int64_t> dims, std::span<const int64_t> around,
                uint64_t elementBytes);

  /// Returns whether the shapes are equal; then there is one run.
  bool isWhole() const { return whole; }
  uint64_t runs() const { return count; }
  uint64_t runBytes() const { return bytes; }
  /// Returns the byte offset of a run in the large tensor.
  uint64_t offset(uint64_t run) const;

private:
  std::span<const int64_t> dims, around; ///< outer dimensions, which index runs
  uint64_t bytes, count = 1;
  uint64_t step; ///< bytes between neighbouring runs in the large tensor
  bool whole;
};

/// Copy the small tensor into the large one and zero its other bytes, or back
/// out of it. Both tensors may start at the same address.
void copyInto(const StridedRegion &region, const void *small, void *large,
              uint64_t largeBytes);
void copyOutOf(const StridedRegion &region, const void *large, void *small);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_STRIDEDREGION_H
