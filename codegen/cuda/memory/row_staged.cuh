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
// Where Cols is no multiple of V, vectors are skewed: they begin where those of
// the tensors do, so that a row's first vector and its last have elements of
// the neighbours, at columns below 0 and from Cols on. They take no part in
// reductions, and a Body takes signed columns and leaves them as they are:
//
//   template <class Own>
//   void store(const Element (&e)[V], const float (&r)[..], unsigned row,
//              int col, const Own &own) const;              // by storeOwn
//
// What a term makes of them is thrown away, so it may be anything: by then they
// may be a neighbour's results. For weights to be read by vectors as well,
// shared memory has them V times, once for every place in a vector where a row
// may begin:
//
//   static constexpr int kWeights = 2;             // that forWeights visits
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

/// Which elements of a vector from `col` on are their row's, if it has any.
template <int V, int Cols> struct Own {
  int col;
  /// Whether it may be the row's first or last, which is known where loops over
  /// a thread's vectors are unrolled: others cost nothing.
  bool first, last;

  __device__ bool operator()(int v) const {
    return (!first || v == V - 1 || col + v >= 0) &&
           (!last || v == 0 || col + v < Cols);
  }
};

/// Writes the row's own of V elements: the neighbours' are for others to write.
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

/// A team's row in registers, in skewed vectors where need be.
template <class Body, int Threads, int PerThread, int V, int Cols,
          bool Skewed = Cols % V != 0>
struct StagedRow : KeptRow<Body, Threads, PerThread, V> {};
template <class Body, int Threads, int PerThread, int V, int Cols>
struct StagedRow<Body, Threads, PerThread, V, Cols, true> {
  static constexpr int kVectors = (PerThread + V - 1) / V;
  typename Body::Element vectors[kVectors][V];
  int skew;

  /// Where in a vector the row begins.
  __device__ static int skewOf(unsigned row) { return row * Cols % V; }

  __device__ void load(const Body &body, unsigned row, unsigned) {
    skew = skewOf(row);
    // Past the end they are the row's first.
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      body.load(vectors[i], row, has(i) ? column(i) : -skew);
  }

  __device__ int column(int i) const {
    return int(i * Threads + threadIdx.x % Threads) * V - skew;
  }
  /// Whether the row has vector i; without a skew it has the fewest.
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

/// Elements from where one copy of `Cols` weights begins to where the next
/// does, for rows that are skewed by one more.
template <class T, int V, int Cols>
inline constexpr int kNextCopy =
    ((Cols + V - 1) * int(sizeof(T)) + 127) / 128 * (128 / int(sizeof(T))) + 1;

/// A weight of any type on its way to shared memory.
struct alignas(8) Weight {
  unsigned char bytes[8];
  template <class T> __device__ T &as() {
    return *reinterpret_cast<T *>(bytes);
  }
};

/// Writes the weights that all rows read to shared memory from `to` on, V times
/// each. All are read before any is written, so that they are waited for once.
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

/// A team of `Threads` threads per `Held` rows of `Cols` elements, in
/// one-dimensional blocks of `Block`, whose rows together are whole vectors of
/// every tensor. The grid has a team for every row.
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
  // The same body, whose tensors are in shared memory.
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

  // Teams of a warp are apart by as many rows as there are warps, which keeps
  // their elements in different banks more often than neighbours would.
  Team<Threads, Block> team;
  const unsigned inBlock =
      threadIdx.x / 32 + threadIdx.x % 32 / Threads * kWarps;
  auto has = [&](int k) { return whole || inBlock + k * kTeams < here; };
  // Rows past the last are others of the block, all of a team skewed alike.
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
  // One branch for all that a team has, if it has one row.
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

#endif // FRIT_DEVICE_ROW_STAGED_CUH
