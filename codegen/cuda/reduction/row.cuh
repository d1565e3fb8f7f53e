//===- row.cuh - Reductions along rows ------------------------------------===//
//
// Softmax, layer norm, losses and every other fusion of the shape
//
//   load a row ─▶ reduce ─▶ reduce, given the results so far ─▶ ... ─▶ store
//
// A team of `Threads` threads computes a row. A team is part of a warp or a
// warp (then a block has several teams), or a whole block of several warps. A
// row of at most Threads * PerThread columns is read once and stays in
// registers, a longer one in shared memory if it fits; still longer rows are
// read again by every pass. The order of every sum is fixed, so results do not
// change from run to run.
//
// The fusion is a Body:
//
//   struct Element { float x; };                   // what registers hold
//   static constexpr int kReductions = 2;          // 0 is allowed
//   void load(Element (&e)[V], unsigned row, unsigned col) const;
//   template <int R>
//   float term(Element &e, const float (&r)[kReductions], unsigned row,
//              unsigned col) const;                // may use r[0 .. R-1]
//   template <int R> static float identity();
//   template <int R> static float combine(float x, float y);  // commutative
//   void store(const Element (&e)[V], const float (&r)[..], unsigned row,
//              unsigned col) const;
//   void finish(const float (&r)[..], unsigned row) const;  // by one thread
//
// `load` and `store` handle V consecutive columns from `col` on, a multiple of
// V. The number of columns is a multiple of V, which may be 1. For rows in
// registers, later phases see what a term writes to its element. Neighbouring
// reductions that do not use each other's results may share a pass over the
// row; a Body with such reductions numbers the passes:
//
//   static constexpr int kPasses[kReductions] = {0, 1, 1};
//
// For rows that are not in registers, a Body may have values of a row that
// stores would otherwise recompute or reload for every vector. Its `store` then
// takes them as an argument after `col`:
//
//   struct RowValues { int64_t a0; };
//   RowValues valuesOf(const float (&r)[kReductions], unsigned row) const;
//
// For rows in shared memory a Body also has
//
//   struct Stored { f16 x; };                      // what shared memory holds
//   static Element fromStored(const Stored &s);
//
// and either of
//
//   const Stored *source(unsigned row, unsigned col) const;  // in memory
//   static Stored toStored(const Element &e);
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_ROW_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_ROW_CUH

#include "frit/copy.cuh"

namespace frit {

/// Size of a body's array of results, at least 1, since C++ has no empty
/// arrays.
template <class Body>
inline constexpr int kResults = Body::kReductions > 0 ? Body::kReductions : 1;

/// The `Threads` threads that share a row, in blocks of `Block` threads. All
/// threads of a block make the same calls.
template <int Threads, int Block> class Team {
  static constexpr bool kInWarp = Threads <= 32;
  static_assert(kInWarp ? 32 % Threads == 0 : Threads % 32 == 0,
                "a team divides a warp or is made of whole warps");
  static_assert(Block == Threads || (kInWarp && Block % 32 == 0),
                "a block has one team, or whole warps of teams");
  static constexpr int kLanes = kInWarp ? Threads : 32;
  static constexpr int kWarps = kInWarp ? 1 : Threads / 32;

public:
  static constexpr unsigned kTeams = Block / Threads;

  __device__ unsigned thread() const { return threadIdx.x % Threads; }
  __device__ unsigned row() const {
    return blockIdx.x * kTeams + threadIdx.x / Threads;
  }

  /// Combines one value per thread. Every thread gets the same bits: each
  /// butterfly step combines the same pairs, only with operands swapped.
  template <class Body, int R> __device__ float reduce(float value) {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      value = Body::template combine<R>(value,
                                        __shfl_xor_sync(~0u, value, distance));
    if constexpr (!kInWarp) {
      float (&mine)[kWarps] = slotsOf(buffer);
      buffer ^= 1;
      if (threadIdx.x % 32 == 0)
        mine[threadIdx.x / 32] = value;
      __syncthreads();
      value = mine[0];
#pragma unroll
      for (int warp = 1; warp < kWarps; ++warp)
        value = Body::template combine<R>(value, mine[warp]);
    }
    return value;
  }

private:
  /// Returns one of two buffers of slots, so that one barrier per reduction is
  /// enough: a slot is rewritten only after the barrier of the next reduction.
  __device__ static auto slotsOf(unsigned buffer) -> float (&)[kWarps] {
    __shared__ float slots[2][kWarps];
    return slots[buffer];
  }

  unsigned buffer = 0;
};

/// Tells a visitor that all elements of a vector belong to the row.
struct OwnAll {
  __device__ constexpr bool operator()(int) const { return true; }
};

/// A team's row in registers, loaded once.
template <class Body, int Threads, int PerThread, int V> struct KeptRow {
  static constexpr int kVectors = (PerThread + V - 1) / V;
  typename Body::Element vectors[kVectors][V];
  unsigned cols;

  KeptRow() = default;
  __device__ KeptRow(const Body &body, unsigned row, unsigned cols) {
    load(body, row, cols);
  }

  __device__ void load(const Body &body, unsigned row, unsigned count) {
    cols = count;
    // Past the end, load the row's last vector: a branch would keep loads from
    // overlapping.
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      body.load(vectors[i], row, column(i) < cols ? column(i) : cols - V);
  }

  __device__ unsigned column(int i) const {
    return (i * Threads + threadIdx.x % Threads) * V;
  }

  /// Visits vector i if the row has it.
  template <class Visit> __device__ void at(int i, const Visit &visit) {
    if (column(i) < cols)
      visit(vectors[i], column(i), OwnAll());
  }
  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      at(i, visit);
  }
};

/// A team's row in global memory, loaded by every pass.
template <class Body, int Threads, int V> struct StreamedRow {
  const Body &body;
  unsigned row, cols;

  __device__ StreamedRow(const Body &body, unsigned row, unsigned cols)
      : body(body), row(row), cols(cols) {}

  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll 4
    for (unsigned col = threadIdx.x % Threads * V; col < cols;
         col += Threads * V) {
      typename Body::Element vector[V];
      body.load(vector, row, col);
      visit(vector, col, OwnAll());
    }
  }
};

/// A block's row in shared memory, loaded once. Threads read only what they
/// loaded themselves, so no barrier is needed.
template <class Body, int Threads, int V> struct SharedRow {
  using Stored = typename Body::Stored;
  unsigned cols;

  __device__ SharedRow(const Body &body, unsigned row, unsigned cols)
      : cols(cols) {
#pragma unroll 4
    for (unsigned col = threadIdx.x * V; col < cols; col += Threads * V)
      fetch<V>(body, dynamicShared<Stored>() + col, row, col);
    commitCopies();
    waitCopies<0>();
  }

  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll 4
    for (unsigned col = threadIdx.x * V; col < cols; col += Threads * V) {
      typename Body::Element vector[V];
      fromShared<Body>(vector, dynamicShared<Stored>() + col);
      visit(vector, col, OwnAll());
    }
  }
};

/// Returns the number of reductions from R on that share a pass over the row.
template <class Body, int R> constexpr int passSize() {
  int count = 1;
  if constexpr (requires { Body::kPasses; })
    while (R + count < Body::kReductions &&
           Body::kPasses[R + count] == Body::kPasses[R])
      ++count;
  return count;
}

/// Adds an element's terms of reductions R to Last to their values.
template <int R, int Last, class Body, class Col>
__device__ inline void addTerms(const Body &body, typename Body::Element &e,
                                const float (&results)[kResults<Body>],
                                float *values, unsigned row, Col col,
                                bool own) {
  const float x = body.template term<R>(e, results, row, col);
  if (own)
    *values = Body::template combine<R>(*values, x);
  if constexpr (R < Last)
    addTerms<R + 1, Last>(body, e, results, values + 1, row, col, own);
}

/// Sets the values of reductions R to Last to their identities.
template <int R, int Last, class Body>
__device__ inline void setIdentities(float *values) {
  *values = Body::template identity<R>();
  if constexpr (R < Last)
    setIdentities<R + 1, Last, Body>(values + 1);
}

/// Combines the team's values of reductions R to Last.
template <int R, int Last, class Body, class Team>
__device__ inline void combineTeam(Team &team, const float *values,
                                   float (&results)[kResults<Body>]) {
  results[R] = team.template reduce<Body, R>(*values);
  if constexpr (R < Last)
    combineTeam<R + 1, Last, Body>(team, values + 1, results);
}

/// Computes reductions R and later, in passes over the row.
template <int R, int V, class Body, class Row, class Team>
__device__ inline void reduceFrom(const Body &body, Row &elements, Team &team,
                                  float (&results)[kResults<Body>],
                                  unsigned row) {
  if constexpr (R < Body::kReductions) {
    constexpr int kCount = passSize<Body, R>(), kLast = R + kCount - 1;
    float values[kCount];
    setIdentities<R, kLast, Body>(values);
    elements.forEach([&](typename Body::Element(&e)[V], auto col, auto own) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        addTerms<R, kLast>(body, e[v], results, values, row, col + v, own(v));
    });
    combineTeam<R, kLast, Body>(team, values, results);
    reduceFrom<kLast + 1, V>(body, elements, team, results, row);
  }
}

/// Computes the calling team's row, which a `Row` holds. Teams past the last
/// row compute that one again, without storing: shuffles inside a branch or a
/// loop take longer.
template <class Row, int Threads, int Block, int V, class Body>
__device__ inline void rowOf(const Body &body, unsigned rows, unsigned cols) {
  Team<Threads, Block> team;
  // `rows` is a compile-time constant after inlining.
  const bool whole = rows % team.kTeams == 0;
  const unsigned row = whole ? team.row() : minimum(team.row(), rows - 1);
  Row elements(body, row, cols);
  float results[kResults<Body>] = {};
  reduceFrom<0, V>(body, elements, team, results, row);
  if (!whole && team.row() >= rows)
    return;
  if constexpr (requires { body.valuesOf(results, row); }) {
    const auto values = body.valuesOf(results, row);
    elements.forEach([&](const typename Body::Element(&e)[V], unsigned col,
                         OwnAll) { body.store(e, results, row, col, values); });
  } else {
    elements.forEach([&](const typename Body::Element(&e)[V], unsigned col,
                         OwnAll) { body.store(e, results, row, col); });
  }
  if (team.thread() == 0)
    body.finish(results, row);
}

/// Computes a row per block of `Threads` threads, in dynamic shared memory.
template <class Body, int Threads, int V>
__device__ inline void rowShared(const Body &body, unsigned rows,
                                 unsigned cols) {
  rowOf<SharedRow<Body, Threads, V>, Threads, Threads, V>(body, rows, cols);
}

/// Computes a row per team of `Threads` threads, in one-dimensional blocks of
/// `Block` threads: exactly `Threads` if that exceeds a warp, otherwise any
/// multiple of 32. The grid has a team for every row.
template <class Body, int Threads, int PerThread, int V, int Block = Threads>
__device__ inline void row(const Body &body, unsigned rows, unsigned cols) {
  // `cols` is a compile-time constant after inlining, so only one branch
  // remains.
  constexpr unsigned kept = (PerThread + V - 1) / V * V * Threads;
  if (cols <= kept)
    rowOf<KeptRow<Body, Threads, PerThread, V>, Threads, Block, V>(body, rows,
                                                                   cols);
  else
    rowOf<StreamedRow<Body, Threads, V>, Threads, Block, V>(body, rows, cols);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_REDUCTION_ROW_CUH
