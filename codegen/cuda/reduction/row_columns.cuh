//===- row_columns.cuh - Reductions along rows, with column sums ----------===//
//
// One kernel for a layer norm's gradient, which reduces rows, and the gradients
// of its scale and bias and of a preceding bias, which are column sums of the
// same tensors. Each tensor is read once.
//
// Each block has a part of the rows. Each of its warps computes one row after
// the other in vectors of columns and accumulates column sums in registers,
// while the next row's inputs are copied to shared memory. At the end the
// warps' sums are added in a fixed order, so that results are deterministic.
//
// In addition to what row.cuh requires, a Body lists its pointers to inputs
// with an element at every (row, column), each with the bytes per element of
// the inputs before it:
//
//   template <class Self, class Visit>
//   static void forInputs(Self &self, const Visit &visit);   // visit(x, bytes)
//   static constexpr int kStagedBytes = 4;  // of an element in all of them
//
// and has column sums, one per column and part:
//
//   static constexpr int kSums = 3;
//   void add(const Element (&e)[V], const float (&r)[..], unsigned row,
//            unsigned col, float (&sums)[kSums][V]) const;
//   template <int S> void storeSum(float x, unsigned part, unsigned col) const;
//
// If it has values of a row, `add` takes them after `col`, as `store` does.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_ROW_COLUMNS_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_ROW_COLUMNS_CUH

#include "frit/row.cuh"

namespace frit {

/// A warp's row in shared memory, whose vectors are loaded by every pass.
template <class Body, int PerThread, int V, unsigned Cols> struct WarpRow {
  const Body &body;
  unsigned row;

  /// Visits vector i if the row has it.
  template <class Visit> __device__ void at(int i, const Visit &visit) {
    const unsigned col = (i * 32 + threadIdx.x % 32) * V;
    if (col >= Cols)
      return;
    typename Body::Element vector[V];
    body.load(vector, row, col);
    visit(vector, col, OwnAll());
  }
  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll
    for (int i = 0; i < PerThread / V; ++i)
      at(i, visit);
  }
};

/// Starts copying a row's inputs to shared memory from `to` on, by a warp.
template <unsigned Cols, class Body>
__device__ inline void copyRow(const Body &body, char *to, unsigned row) {
  Body::forInputs(body, [&](const auto *tensor, unsigned before) {
    const char *from =
        reinterpret_cast<const char *>(tensor + size_t(row) * Cols);
    constexpr unsigned kBytes = Cols * sizeof(*tensor);
    static_assert(kBytes % 16 == 0, "rows are whole vectors");
#pragma unroll
    for (unsigned step = 0; step < kBytes; step += 32 * 16)
      if (const unsigned at = step + threadIdx.x % 32 * 16; at < kBytes)
        copyAsync(to + before * Cols + at, from + at);
  });
}

/// Adds the warps' sums S and later of each column, and stores them.
template <int S, int PerThread, int V, int Block, unsigned Cols, class Body>
__device__ inline void
storeSums(const Body &body,
          const float (&sums)[PerThread / V][Body::kSums][V]) {
  if constexpr (S < Body::kSums) {
    float *const shared = dynamicShared<float>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PerThread / V; ++i)
      if (const unsigned col = (i * 32 + threadIdx.x % 32) * V; col < Cols)
        storeVector(shared + threadIdx.x / 32 * Cols + col, sums[i][S]);
    __syncthreads();
    for (unsigned col = threadIdx.x; col < Cols; col += Block) {
      float sum = shared[col];
#pragma unroll
      for (unsigned warp = 1; warp < Block / 32; ++warp)
        sum += shared[warp * Cols + col];
      body.template storeSum<S>(sum, blockIdx.x, col);
    }
    storeSums<S + 1, PerThread, V, Block, Cols>(body, sums);
  }
}

/// Computes `rows` rows of `Cols` columns per one-dimensional block of `Block`
/// threads, whose dynamic shared memory holds two rows' inputs per warp.
template <class Body, int PerThread, int V, int Block, unsigned Cols>
__device__ inline void rowColumns(const Body &body, unsigned rows) {
  static_assert(PerThread % V == 0 && PerThread * 32 >= Cols,
                "a warp's vectors cover a row");
  static_assert(2 * Body::kStagedBytes >= 4, "shared memory holds sums too");
  constexpr unsigned kWarps = Block / 32;
  constexpr unsigned kRowBytes = Body::kStagedBytes * Cols;
  const unsigned warp = threadIdx.x / 32;
  const unsigned first = blockIdx.x * rows;
  char *const mine = dynamicShared<char>() + warp * 2 * kRowBytes;
  float sums[PerThread / V][Body::kSums][V] = {};
  Team<32, Block> team;
  if (warp < rows)
    copyRow<Cols>(body, mine, first + warp);
  commitCopies();
  unsigned slot = 0;
  for (unsigned i = warp; i < rows; i += kWarps, slot ^= 1) {
    if (i + kWarps < rows)
      copyRow<Cols>(body, mine + (slot ^ 1) * kRowBytes, first + i + kWarps);
    commitCopies();
    waitCopies<1>();
    __syncwarp();
    // A copy of the body whose pointers are to shared memory.
    const unsigned row = first + i;
    Body staged = body;
    Body::forInputs(staged, [&](auto *&tensor, unsigned before) {
      char *const at = mine + slot * kRowBytes + before * Cols;
      tensor = reinterpret_cast<decltype(+tensor)>(at) - size_t(row) * Cols;
    });
    WarpRow<Body, PerThread, V, Cols> elements{staged, row};
    float results[kResults<Body>] = {};
    reduceFrom<0, V>(staged, elements, team, results, row);
    auto end = [&](auto... values) {
#pragma unroll
      for (int i = 0; i < PerThread / V; ++i)
        elements.at(
            i, [&](const typename Body::Element(&e)[V], unsigned col, OwnAll) {
              staged.add(e, results, row, col, values..., sums[i]);
              staged.store(e, results, row, col, values...);
            });
    };
    if constexpr (requires { body.valuesOf(results, row); })
      end(body.valuesOf(results, row));
    else
      end();
    if (threadIdx.x % 32 == 0)
      body.finish(results, row);
    // All lanes have read the memory that the next copy overwrites.
    __syncwarp();
  }
  waitCopies<0>();
  storeSums<0, PerThread, V, Block, Cols>(body, sums);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_REDUCTION_ROW_COLUMNS_CUH
