//===- Driver.h - What the driver without a GPU says of itself ------------===//

#ifndef FRIT_TEST_FUZZ_DRIVER_H
#define FRIT_TEST_FUZZ_DRIVER_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

/// An edge of a graph, whose nodes count from 1 as they were added.
struct FakeEdge {
  unsigned from, to;
  bool full; ///< not programmatic

  bool operator==(const FakeEdge &) const = default;
};

extern "C" {
/// The edges of the graph that was made last, as they were added.
size_t fritFakeEdges(const FakeEdge **edges);
}

} // namespace frit::cuda

#endif // FRIT_TEST_FUZZ_DRIVER_H
