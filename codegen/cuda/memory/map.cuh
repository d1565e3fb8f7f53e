//===- map.cuh - One thread per vector of elements ------------------------===//
//
// The skeleton of elementwise kernels and, with V = 1, of the generic kernel
// that computes one output element per thread.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_MAP_CUH
#define FRIT_DEVICE_MAP_CUH

#include "frit/base.cuh"

namespace frit {

/// Calls `body(i)` for i = 0, V, 2V, ... below `n`, a multiple of V; the body
/// handles elements [i, i + V). Blocks and threads are one-dimensional, and any
/// number of them is right: the threads step over what the grid does not cover.
///
/// The index is 32 bits wide where `n` is, which is cheaper to divide; n, and V
/// times the threads of the grid, are then at most 2^31, so that it cannot
/// wrap.
template <int V, class Body, class Index>
__device__ inline void map(const Body &body, Index n) {
  Index step = Index(gridDim.x) * blockDim.x * V;
  Index i = (Index(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  for (; i < n; i += step)
    body(i);
}

/// The same for a body that handles W elements, `blockDim.x` apart from `i` on,
/// and takes care itself of those that are not below `n`. W times the threads
/// of the grid are at most 2^31 where the index is 32 bits wide.
template <int W, class Body, class Index>
__device__ inline void mapApart(const Body &body, Index n) {
  Index step = Index(gridDim.x) * blockDim.x * W;
  Index i = Index(blockIdx.x) * blockDim.x * W + threadIdx.x;
  for (; i < n; i += step)
    body(i);
}

} // namespace frit

#endif // FRIT_DEVICE_MAP_CUH
