//===- StridedRegion.cpp - A region of a larger tensor, as runs of bytes --===//

#include "runtime/exec/StridedRegion.h"

#include <cstring>

using namespace frit;

StridedRegion::StridedRegion(std::span<const int64_t> dims,
                             std::span<const int64_t> around,
                             uint64_t elementBytes)
    : bytes(elementBytes), step(elementBytes) {
  // A run spans the last dimension in which the shapes differ and all after it.
  size_t cut = dims.size();
  while (cut && dims[cut - 1] == around[cut - 1])
    --cut;
  whole = cut == 0;
  size_t outer = whole ? 0 : cut - 1;
  for (size_t dim = outer; dim < dims.size(); ++dim) {
    bytes *= uint64_t(dims[dim]);
    step *= uint64_t(around[dim]);
  }
  // Leading dimensions of size 1 do not index runs.
  while (outer && around[outer - 1] == 1)
    --outer;
  this->dims = dims.first(outer);
  this->around = around.first(outer);
  for (int64_t size : this->dims)
    count *= uint64_t(size);
  if (!bytes)
    count = 0;
}

uint64_t StridedRegion::offset(uint64_t run) const {
  uint64_t result = 0, scale = step;
  for (size_t dim = dims.size(); dim-- > 0;) {
    result += run % uint64_t(dims[dim]) * scale;
    run /= uint64_t(dims[dim]);
    scale *= uint64_t(around[dim]);
  }
  return result;
}

// In-place copies: copyInto moves runs to higher addresses only, from last to
// first; copyOutOf moves them to lower addresses, from first to last. So no run
// is overwritten before it is copied.

void frit::copyInto(const StridedRegion &region, const void *small, void *large,
                    uint64_t largeBytes) {
  auto *from = static_cast<const uint8_t *>(small);
  auto *to = static_cast<uint8_t *>(large);
  uint64_t end = largeBytes;
  for (uint64_t run = region.runs(); run-- > 0;) {
    uint64_t at = region.offset(run), behind = at + region.runBytes();
    memmove(to + at, from + run * region.runBytes(), region.runBytes());
    memset(to + behind, 0, end - behind);
    end = at;
  }
  memset(to, 0, end);
}

void frit::copyOutOf(const StridedRegion &region, const void *large,
                     void *small) {
  auto *from = static_cast<const uint8_t *>(large);
  auto *to = static_cast<uint8_t *>(small);
  for (uint64_t run = 0; run < region.runs(); ++run)
    memmove(to + run * region.runBytes(), from + region.offset(run),
            region.runBytes());
}
