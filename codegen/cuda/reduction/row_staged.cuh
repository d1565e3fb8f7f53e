//===- row_staged.cuh - Rows that begin anywhere in a vector --------------===//
//
// Rows of odd width cannot be read and written by vectors. But several
// neighbouring rows together are whole vectors, so a block copies them to
// shared memory asynchronously. Each team, a warp or part of one, computes one
// row there, or several concurrently, whose latencies overlap. Results are
// written through shared memory too. It also holds the weights that all rows
// read.
//
// In addition to what row.cuh requires, a Body lists its pointers to tensors
// with an element at every (row, column), each with the bytes per element of
// the tensors before it. An output may share its space with an input of the
// same element size: the thread that writes an element has read it before.
//
//   template <class Self, class Visit>
//   static void forInputs(Self &self, const Visit &visit);   // visit(x, bytes)
//   template <class Self, class Visit>
//   static void forOutputs(Self &self, const Visit &visit);
//
// and its pointers to tensors with one element per column, which all rows read,
// with the bytes of the tensors before them:
//
//   template <class Self, class Visit>
//   static void forWeights(Self &self, const Visit &visit);  // visit(x, bytes)
//   static constexpr int kStagedBytes = 2;  // of an element in all the others
//
// If Cols is not a multiple of V, vectors are skewed: they are aligned to the
// tensor, so that a row's first and last vectors also contain elements of its
// neighbours, at columns below 0 and from Cols on. Those take no part in
// reductions. A Body then takes signed columns and does not store them:
//
//   template <class Own>
//   void store(const Element (&e)[V], const float (&r)[..], unsigned row,
//              int col, const Own &own) const;              // by storeOwn
//
// Terms computed from them are discarded, so any value will do: they may
// already be a neighbour's results. So that weights can be read by vectors too,
// shared memory has V copies of them, one for every position in a vector where
// a row may begin:
//
//   static constexpr int kWeights = 2;             // that forWeights visits
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_ROW_STAGED_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_ROW_STAGED_CUH

#include "frit/row.cuh"

namespace frit {

/// Starts an asynchronous copy of `bytes` bytes, at most `Most`, to shared
/// memory by a block of `Block` threads. Both pointers are 16-byte aligned.
template <int Block, unsigned Most>
__device__ inline void copyIn(char *to, const void *from, unsigned bytes) {
#pragma unroll 8
  for (unsigned step = 0; step < Most; step += Block * 16)
    if (const unsigned at = step + threadIdx.x * 16; at < bytes)
      copyAsync(to + at, static_cast<const char *>(from) + at,
                int(minimum(bytes - at, 16u)));
}

/// Copies `count` elements, at most `Most`, from shared to global memory.
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

/// Tells which elements of a vector that begins at `col` belong to the row.
template <int V, int Cols> struct Own {
  int col;
  /// Whether this may be the row's first or last vector. The compiler knows it
  /// in unrolled loops, so other vectors need no checks.
  bool first, last;

  __device__ bool operator()(int v) const {
    return (!first || v == V - 1 || col + v >= 0) &&
           (!last || v == 0 || col + v < Cols);
  }
};

/// Stores those of V elements that belong to the row.
template <int V, int Cols, class T, class F>
__device__ inline void storeOwn(T *to, const F (&in)[V],
                                const Own<V, Cols> &own) {
  if (!own.first && !own.last) {
    storeVector(to, in);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (own(v))
      store(to[v], in[v]);
}

/// A team's row in registers, in skewed vectors if necessary.
template <class Body, int Threads, int PerThread, int V, int Cols,
          bool Skewed = Cols % V != 0>
struct StagedRow : KeptRow<Body, Threads, PerThread, V> {};
template <class Body, int Threads, int PerThread, int V, int Cols>
struct StagedRow<Body, Threads, PerThread, V, Cols, true> {
  static constexpr int kVectors = (PerThread + V - 1) / V;
  typename Body::Element vectors[kVectors][V];
  int skew;

  /// Returns the position in a vector where the row begins.
  __device__ static int skewOf(unsigned row) { return row * Cols % V; }

  __device__ void load(const Body &body, unsigned row, unsigned) {
    skew = skewOf(row);
    // Past the end, load the row's first vector.
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      body.load(vectors[i], row, has(i) ? column(i) : -skew);
  }

  __device__ int column(int i) const {
    return int(i * Threads + threadIdx.x % Threads) * V - skew;
  }
  /// Returns whether the row has vector i; constant for vectors that every row
  /// has.
  __device__ bool has(int i) const {
    return ((i + 1) * Threads - 1) * V < Cols || column(i) < Cols;
  }

  template <class Visit> __device__ void at(int i, const Visit &visit) {
    if (has(i))
      visit(vectors[i], column(i),
            Own<V, Cols>{column(i), i == 0, (i + 1) * Threads * V > Cols});
  }
  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      at(i, visit);
  }
};

/// Elements between consecutive copies of `Cols` weights; each copy is skewed
/// by one more.
template <class T, int V, int Cols>
inline constexpr int kNextCopy =
    ((Cols + V - 1) * int(sizeof(T)) + 127) / 128 * (128 / int(sizeof(T))) + 1;

/// A weight of any type in registers, on its way to shared memory.
struct alignas(8) Weight {
  unsigned char bytes[8];
  template <class T> __device__ T &as() {
    return *reinterpret_cast<T *>(bytes);
  }
};

/// Copies the weights that all rows read to shared memory from `to` on, V times
/// each. Reads all before writing any, so that their latencies overlap.
template <int Block, int V, int Cols, class Body>
__device__ inline void copyWeights(Body &staged, char *to) {
  constexpr int kSteps = (Cols + Block - 1) / Block;
  Weight weights[Body::kWeights + 1][kSteps];
  int n = 0;
  Body::forWeights(staged, [&]<class T>(const T *tensor, unsigned) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
      if (const int col = i * Block + threadIdx.x; col < Cols)
        weights[n][i].template as<T>() = tensor[col];
    ++n;
  });
  n = 0;
  Body::forWeights(staged, [&]<class T>(const T *&tensor, unsigned before) {
    T *const copies = reinterpret_cast<T *>(to + before);
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
      if (const int col = i * Block + threadIdx.x; col < Cols)
#pragma unroll
        for (int s = 0; s < V; ++s)
          copies[s * kNextCopy<T, V, Cols> + col] =
              weights[n][i].template as<T>();
    tensor = copies;
    ++n;
  });
}

/// Computes `Held` rows of `Cols` elements per team of `Threads` threads, in
/// one-dimensional blocks of `Block` threads, whose rows together are whole
/// vectors of every tensor. The grid covers all rows.
template <class Body, int Threads, int PerThread, int V, int Block,
          unsigned Cols, int Held = 1>
__device__ inline void rowStaged(const Body &body, unsigned rows) {
  constexpr bool kSkewed = Cols % V != 0;
  static_assert((PerThread + V - 1) / V * V * Threads >=
                    Cols + (kSkewed ? V - 1 : 0),
                "registers hold a row");
  constexpr unsigned kTeams = Block / Threads, kWarps = Block / 32;
  constexpr unsigned kRows = kTeams * Held;
  static_assert(kRows * Cols % V == 0, "blocks begin at vectors");
  static_assert(Held == 1 || kTeams * Cols % V == 0,
                "a team's rows are skewed alike");
  char *const shared = dynamicShared<char>();
  const unsigned first = blockIdx.x * kRows;
  // `rows` is a literal where this is inlined.
  const bool whole = rows % kRows == 0;
  const unsigned here = whole ? kRows : minimum(rows - first, kRows);
  // A copy of the body whose pointers are to shared memory.
  Body staged = body;
  Body::forInputs(staged, [&](auto *&tensor, unsigned before) {
    char *const to = shared + before * kRows * Cols;
    const auto *from = tensor + size_t(first) * Cols;
    constexpr unsigned kBytes = Cols * sizeof(*from);
    copyIn<Block, kRows * kBytes>(to, from, here * kBytes);
    tensor = reinterpret_cast<decltype(from)>(to) - size_t(first) * Cols;
  });
  constexpr unsigned kBehind =
      (Body::kStagedBytes * kRows * Cols + 127) / 128 * 128;
  if constexpr (kSkewed)
    copyWeights<Block, V, Cols>(staged, shared + kBehind);
  else
    Body::forWeights(staged, [&](auto *&tensor, unsigned before) {
      char *const to = shared + kBehind + before;
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

  // The rows of a warp's teams are kWarps apart, which causes fewer bank
  // conflicts than neighbouring rows would.
  Team<Threads, Block> team;
  const unsigned inBlock =
      threadIdx.x / 32 + threadIdx.x % 32 / Threads * kWarps;
  auto has = [&](int k) { return whole || inBlock + k * kTeams < here; };
  // Rows past the last repeat another row of the block; all rows of a team have
  // the same skew.
  auto rowAt = [&](int k) {
    if (kSkewed && !has(k))
      k = 0;
    return first + (has(k) ? inBlock + k * kTeams : here - 1);
  };
  using Row = StagedRow<Body, Threads, PerThread, V, int(Cols)>;
  if constexpr (kSkewed)
    Body::forWeights(staged, [&]<class T>(const T *&tensor, unsigned) {
      tensor += Row::skewOf(rowAt(0)) * kNextCopy<T, V, int(Cols)>;
    });
  Row elements[Held];
  float results[Held][kResults<Body>] = {};
#pragma unroll
  for (int k = 0; k < Held; ++k)
    elements[k].load(staged, rowAt(k), Cols);
#pragma unroll
  for (int k = 0; k < Held; ++k)
    reduceFrom<0, V>(staged, elements[k], team, results[k], rowAt(k));
  // With one row per team, one branch covers everything that it stores.
  if (Held > 1 || has(0)) {
#pragma unroll
    for (int i = 0; i < Row::kVectors; ++i)
#pragma unroll
      for (int k = 0; k < Held; ++k)
        if (Held == 1 || has(k))
          elements[k].at(
              i, [&](const typename Body::Element(&e)[V], auto col, auto own) {
                if constexpr (kSkewed)
                  staged.store(e, results[k], rowAt(k), col, own);
                else
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

#endif // FRIT_CODEGEN_CUDA_REDUCTION_ROW_STAGED_CUH
