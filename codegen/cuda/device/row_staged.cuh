//===- row_staged.cuh - Rows that begin anywhere in a vector --------------===//
//
// The elements of rows of odd width can only be read and written by themselves.
// But those of several neighbouring rows make whole vectors, so a block copies
// these to shared memory as they are, asynchronously, and there teams of part
// of a warp, or of a whole one, take a row each, or several at once: what they
// wait for then overlaps. Results take the same way back. Weights that all rows
// read are there too.
//
// Beside what row.cuh asks for, a Body names those of its pointers whose
// tensors have an element at every (row, column), in that order, each with the
// bytes that an element takes in those before it. An output may be in the place
// of an input with elements of the same size: the thread that writes a place
// has read it before.
//
//   template <class Self, class Visit>
//   static void forInputs(Self &self, const Visit &visit);   // visit(x, bytes)
//   template <class Self, class Visit>
//   static void forOutputs(Self &self, const Visit &visit);
//
// and those whose tensors have one for every column, which all rows read, with
// the bytes of those before:
//
//   template <class Self, class Visit>
//   static void forWeights(Self &self, const Visit &visit);  // visit(x, bytes)
//   static constexpr int kStagedBytes = 2;  // of an element in all the others
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_ROW_STAGED_CUH
#define FRIT_DEVICE_ROW_STAGED_CUH

#include "frit/row.cuh"

namespace frit {

/// Starts copying `bytes` bytes, at most `Most`, to shared memory by a block of
/// `Block` threads; both are where vectors begin.
template <int Block, unsigned Most>
__device__ inline void copyIn(char *to, const void *from, unsigned bytes) {
#pragma unroll 8
  for (unsigned step = 0; step < Most; step += Block * 16)
    if (const unsigned at = step + threadIdx.x * 16; at < bytes)
      copyAsync(to + at, static_cast<const char *>(from) + at,
                int(minimum(bytes - at, 16u)));
}

/// Writes `count` elements of shared memory, of at most `Most`.
template <int Block, unsigned Most, class T>
__device__ inline void copyOut(T *to, const char *from, unsigned count) {
  using Words = Pack<uint32_t, 4>;
  constexpr unsigned n = 16 / sizeof(T);
  const unsigned whole = count / n * n;
#pragma unroll 8
  for (unsigned step = 0; step < Most; step += Block * n)
    if (const unsigned at = step + threadIdx.x * n; at < whole)
      storePack(reinterpret_cast<uint32_t *>(to + at),
                *reinterpret_cast<const Words *>(from + at * sizeof(T)));
  if (const unsigned last = whole + threadIdx.x; last < count)
    to[last] = reinterpret_cast<const T *>(from)[last];
}

/// A team of `Threads` threads per `Held` rows of `Cols` elements, in
/// one-dimensional blocks of `Block`, whose rows together are whole vectors of
/// every tensor. The grid has a team for every row.
template <class Body, int Threads, int PerThread, int V, int Block,
          unsigned Cols, int Held = 1>
__device__ inline void rowStaged(const Body &body, unsigned rows) {
  static_assert((PerThread + V - 1) / V * V * Threads >= Cols,
                "registers hold a row");
  constexpr unsigned kTeams = Block / Threads, kWarps = Block / 32;
  constexpr unsigned kRows = kTeams * Held;
  char *const shared = dynamicShared<char>();
  const unsigned first = blockIdx.x * kRows;
  // `rows` is a literal where this is inlined.
  const bool whole = rows % kRows == 0;
  const unsigned here = whole ? kRows : minimum(rows - first, kRows);
  // The same body, whose tensors are in shared memory.
  Body staged = body;
  Body::forInputs(staged, [&](auto *&tensor, unsigned before) {
    char *const to = shared + before * kRows * Cols;
    const auto *from = tensor + size_t(first) * Cols;
    constexpr unsigned kBytes = Cols * sizeof(*from);
    copyIn<Block, kRows * kBytes>(to, from, here * kBytes);
    tensor = reinterpret_cast<decltype(from)>(to) - size_t(first) * Cols;
  });
  Body::forWeights(staged, [&](auto *&tensor, unsigned before) {
    constexpr unsigned kBehind = Body::kStagedBytes * kRows * Cols;
    char *const to = shared + (kBehind + 127) / 128 * 128 + before;
    const auto *from = tensor;
    constexpr unsigned kBytes = Cols * sizeof(*from);
    copyIn<Block, kBytes>(to, from, kBytes);
    tensor = reinterpret_cast<decltype(from)>(to);
  });
  Body::forOutputs(staged, [&]<class T>(T *&tensor, unsigned before) {
    tensor = reinterpret_cast<T *>(shared + before * kRows * Cols) -
             size_t(first) * Cols;
  });
  commitCopies();
  waitCopies<0>();
  __syncthreads();

  // Teams of a warp are apart by as many rows as there are warps, which keeps
  // their elements in different banks more often than neighbours would.
  Team<Threads, Block> team;
  const unsigned inBlock =
      threadIdx.x / 32 + threadIdx.x % 32 / Threads * kWarps;
  auto has = [&](int k) { return whole || inBlock + k * kTeams < here; };
  auto rowAt = [&](int k) {
    return first + (has(k) ? inBlock + k * kTeams : here - 1);
  };
  using Row = KeptRow<Body, Threads, PerThread, V>;
  Row elements[Held];
  float results[Held][kResults<Body>] = {};
#pragma unroll
  for (int k = 0; k < Held; ++k)
    elements[k].load(staged, rowAt(k), Cols);
#pragma unroll
  for (int k = 0; k < Held; ++k)
    reduceFrom<0, V>(staged, elements[k], team, results[k], rowAt(k));
  // One branch for all that a team has, if it has one row.
  if (Held > 1 || has(0)) {
#pragma unroll
    for (int i = 0; i < Row::kVectors; ++i)
#pragma unroll
      for (int k = 0; k < Held; ++k)
        if (Held == 1 || has(k))
          elements[k].at(
              i, [&](const typename Body::Element(&e)[V], unsigned col) {
                staged.store(e, results[k], rowAt(k), col);
              });
  }
#pragma unroll
  for (int k = 0; k < Held; ++k)
    if (has(k) && team.thread() == 0)
      staged.finish(results[k], rowAt(k));

  __syncthreads();
  Body::forOutputs(body, [&](auto *const &tensor, unsigned before) {
    copyOut<Block, kRows * Cols>(tensor + size_t(first) * Cols,
                                 shared + before * kRows * Cols, here * Cols);
  });
}

} // namespace frit

#endif // FRIT_DEVICE_ROW_STAGED_CUH
