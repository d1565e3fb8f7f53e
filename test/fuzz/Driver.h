//===- Driver.h - Interface of the fake CUDA driver -----------------------===//

#ifndef FRIT_TEST_FUZZ_DRIVER_H
#define FRIT_TEST_FUZZ_DRIVER_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

/// An edge of a graph. Nodes are numbered from 1 in the order of their
/// creation.
struct FakeEdge {
  unsigned from, to;
  bool full; ///< not programmatic

  bool operator==(const FakeEdge &) const = default;
};

extern "C" {
/// Returns the edges of the last graph in the order of their creation.
size_t fritFakeEdges(const FakeEdge **edges);
/// Returns the number of captures that made it.
size_t fritFakeCaptures();

/// Returns the stream of the last copy on the device.
Stream fritFakeCopyStream();
/// Returns the stream that last waited for an event, and that of the event.
void fritFakeWait(Stream *waiting, Stream *recorded);
}

} // namespace frit::cuda

#endif // FRIT_TEST_FUZZ_DRIVER_H
