//===- StridedRegion.h - A tensor at the start of a larger one ------------===//

#ifndef FRIT_EXEC_INSET_H
#define FRIT_EXEC_INSET_H

#include <cstdint>
#include <span>

namespace frit {

/// Where the elements of a dense tensor lie in a dense tensor of the same rank
/// that is larger in some dimensions, both row major: in runs of `runBytes()`,
/// one after the other in the small tensor. Refers to the shapes given.
class StridedRegion {
public:
  StridedRegion(std::span<const int64_t> dims, std::span<const int64_t> around,
                uint64_t elementBytes);

  /// Whether both are the same, which is one run.
  bool isWhole() const { return whole; }
  uint64_t runs() const { return count; }
  uint64_t runBytes() const { return bytes; }
  /// Where a run begins in the large tensor.
  uint64_t offset(uint64_t run) const;

private:
  std::span<const int64_t> dims, around; ///< of those that tell runs apart
  uint64_t bytes, count = 1;
  uint64_t step; ///< bytes from one run to the next of the last dimension
  bool whole;
};

/// Copies the small tensor into the large one, whose other bytes become zero,
/// or out of it. Both may start at the same address.
void copyInto(const StridedRegion &region, const void *small, void *large,
              uint64_t largeBytes);
void copyOutOf(const StridedRegion &region, const void *large, void *small);

} // namespace frit

#endif // FRIT_EXEC_INSET_H
