//===- map.cuh - One thread per vector of elements ------------------------===//
//
// The skeleton of elementwise kernels and, with V = 1, of the generic kernel
// that computes one output element per thread.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_MAP_CUH
#define FRIT_CODEGEN_CUDA_MEMORY_MAP_CUH

#include "frit/base.cuh"
#include "frit/bytes.cuh"

namespace frit {

/// Blocks of a grid that share some work.
struct BlockRange {
  unsigned first, count;
};

/// Returns the whole grid.
__device__ inline BlockRange allBlocks() { return {0, gridDim.x}; }

/// Calls `body(i)` for i = 0, V, 2V, ... below `n`, a multiple of V; the body
/// handles elements [i, i + V). The blocks of `blocks` share the elements, and
/// only they may call. Blocks are one-dimensional, and any number of them is
/// correct (grid-stride loop).
///
/// The index has the type of `n`; 32 bits are cheaper to divide. With 32 bits,
/// n and V times the threads of the grid are at most 2^31, so that the index
/// cannot wrap.
template <int V, class Body, class Index>
__device__ inline void map(const Body &body, Index n,
                           BlockRange blocks = allBlocks()) {
  Index step = Index(blocks.count) * blockDim.x * V;
  Index i = (Index(blockIdx.x - blocks.first) * blockDim.x + threadIdx.x) * V;
  for (; i < n; i += step)
    body(i);
}

/// Like map() for a body that handles W elements from `i` on that are
/// `blockDim.x` apart, and itself skips those not below `n`. With a 32-bit
/// index, W times the threads of the grid are at most 2^31.
template <int W, class Body, class Index>
__device__ inline void mapApart(const Body &body, Index n,
                                BlockRange blocks = allBlocks()) {
  Index step = Index(blocks.count) * blockDim.x * W;
  Index i = Index(blockIdx.x - blocks.first) * blockDim.x * W + threadIdx.x;
  for (; i < n; i += step)
    body(i);
}

/// Returns where element `i` of rows that replace a part of a state is stored,
/// or -1 if its row would lie outside. `i` counts elements of a tensor of
/// outer × `rows` × `inner` elements, the state has outer × `capacity` ×
/// `inner`. The rows of index j of `outer` begin at offsets[j / `each`].
template <int64_t rows, int64_t capacity, int64_t inner, int64_t each,
          class Index, class Offset>
__device__ inline int64_t updatePlace(Index i, const Offset *offsets) {
  Index row = i / Index(inner), outer = row / Index(rows);
  // Unsigned, so that an offset of any size is below 0 or above the capacity.
  uint64_t at =
      uint64_t(int64_t(offsets[outer / Index(each)])) + row % Index(rows);
  if (at >= uint64_t(capacity))
    return -1;
  return (int64_t(outer) * capacity + int64_t(at)) * inner +
         int64_t(i % Index(inner));
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_MEMORY_MAP_CUH
