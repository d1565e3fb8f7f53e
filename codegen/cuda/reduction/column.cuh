//===- column.cuh - Reductions along columns ------------------------------===//
//
// Like row.cuh, for rows whose elements are strided in memory while
// neighbouring rows are contiguous: means over the pixels of channels-last
// images, sums over a batch, softmax and norms of a middle dimension.
//
// A block is a grid of threads: `Across` of them read V neighbouring rows each,
// and the `Team` threads that share these rows divide their columns. A thread
// keeps up to PerThread columns in registers, or all of its columns in shared
// memory. With PerThread 0, every pass reads them again. The order of every sum
// is fixed.
//
// The Body is that of row.cuh except for these functions, whose V lanes are
// rows from `row` on at the same column:
//
//   void load(Element (&e)[V], unsigned row, unsigned col) const;
//   void store(const Element (&e)[V], const float (&r)[V][kReductions],
//              unsigned row, unsigned col) const;
//   void finish(const float (&r)[V][kReductions], unsigned row) const;
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_COLUMN_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_COLUMN_CUH

#include "frit/copy.cuh"

namespace frit {

/// A thread's columns in registers, loaded once.
template <class Body, int Team, int PerThread, int V> struct KeptColumns {
  typename Body::Element vectors[PerThread][V];
  unsigned first, cols;

  __device__ KeptColumns(const Body &body, unsigned row, unsigned first,
                         unsigned cols)
      : first(first), cols(cols) {
    // Past the end, load the last column: a branch would keep loads from
    // overlapping.
#pragma unroll
    for (int i = 0; i < PerThread; ++i) {
      unsigned at = first + i * Team;
      body.load(vectors[i], row, at < cols ? at : cols - 1);
    }
  }

  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll
    for (int i = 0; i < PerThread; ++i)
      if (first + i * Team < cols)
        visit(vectors[i], first + i * Team);
  }
};

/// A thread's columns in shared memory, loaded once. Threads read only what
/// they loaded themselves, so no barrier is needed.
template <class Body, int Team, int Across, int V> struct SharedColumns {
  using Stored = typename Body::Stored;
  unsigned first, cols;

  __device__ SharedColumns(const Body &body, unsigned row, unsigned first,
                           unsigned cols)
      : first(first), cols(cols) {
#pragma unroll 8
    for (unsigned col = first; col < cols; col += Team)
      fetch<V>(body, at(col), row, col);
    commitCopies();
    waitCopies<0>();
  }

  __device__ static Stored *at(unsigned col) {
    return dynamicShared<Stored>() + (col * Across + threadIdx.x % Across) * V;
  }

  template <class Visit> __device__ void forEach(const Visit &visit) {
#pragma unroll 4
    for (unsigned col = first; col < cols; col += Team) {
      typename Body::Element vector[V];
      fromShared<Body>(vector, at(col));
      visit(vector, col);
    }
  }
};

/// A thread's columns in global memory, loaded by every pass; a pass loads
/// Ahead of them before it uses the first.
template <class Body, int Team, int V, unsigned Ahead = 32 / V < 8 ? 32 / V : 8>
struct StreamedColumns {
  const Body &body;
  unsigned row, first, cols;

  __device__ StreamedColumns(const Body &body, unsigned row, unsigned first,
                             unsigned cols)
      : body(body), row(row), first(first), cols(cols) {}

  template <class Visit> __device__ void forEach(const Visit &visit) {
    constexpr unsigned kUnroll = Ahead;
    unsigned col = first;
    for (; col + (kUnroll - 1) * Team < cols; col += kUnroll * Team) {
      typename Body::Element vectors[kUnroll][V];
#pragma unroll
      for (unsigned i = 0; i < kUnroll; ++i)
        body.load(vectors[i], row, col + i * Team);
#pragma unroll
      for (unsigned i = 0; i < kUnroll; ++i)
        visit(vectors[i], col + i * Team);
    }
    if (col < cols) {
      typename Body::Element vectors[kUnroll][V];
#pragma unroll
      for (unsigned i = 0; i < kUnroll; ++i) {
        unsigned at = col + i * Team;
        body.load(vectors[i], row, at < cols ? at : cols - 1);
      }
#pragma unroll
      for (unsigned i = 0; i < kUnroll; ++i)
        if (col + i * Team < cols)
          visit(vectors[i], col + i * Team);
    }
  }
};

/// Combines the values of a team's threads for V lanes; all threads get the
/// results. Threads of one warp use shuffles, warps exchange through `slots`.
template <class Body, int R, int Team, int Across, int V>
__device__ inline void combineTeam(float (&values)[V], float *slots) {
  constexpr int kInWarp = Across >= 32         ? 1
                          : 32 / Across < Team ? 32 / Across
                                               : Team;
  constexpr int kWarps = Team / kInWarp;
#pragma unroll
  for (int distance = kInWarp / 2; distance > 0; distance /= 2)
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v] = Body::template combine<R>(
          values[v], __shfl_xor_sync(~0u, values[v], distance * Across));
  if constexpr (kWarps > 1) {
    constexpr unsigned kValues = V * Across;
    unsigned across = threadIdx.x % Across, place = threadIdx.x / Across;
    // Wait until the previous reduction has read its slots.
    __syncthreads();
    if (place % kInWarp == 0) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        slots[place / kInWarp * kValues + v * Across + across] = values[v];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kValues; i += Team * Across) {
      float value = slots[i];
#pragma unroll 8
      for (int warp = 1; warp < kWarps; ++warp)
        value = Body::template combine<R>(value, slots[warp * kValues + i]);
      slots[i] = value;
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v] = slots[v * Across + across];
  }
}

/// Computes reductions R and later.
template <int R, int Team, int Across, int V, class Body, class Columns>
__device__ inline void
reduceColumns(const Body &body, Columns &columns, float *slots,
              float (&results)[V][Body::kReductions], unsigned row) {
  if constexpr (R < Body::kReductions) {
    float values[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v] = Body::template identity<R>();
    columns.forEach([&](typename Body::Element(&e)[V], unsigned col) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        values[v] = Body::template combine<R>(
            values[v], body.template term<R>(e[v], results[v], row + v, col));
    });
    combineTeam<Body, R, Team, Across>(values, slots);
#pragma unroll
    for (int v = 0; v < V; ++v)
      results[v][R] = values[v];
    reduceColumns<R + 1, Team, Across, V>(body, columns, slots, results, row);
  }
}

template <class Columns, int Team, int Across, int V, class Body>
__device__ inline void columnsOf(const Body &body, unsigned rows,
                                 unsigned cols) {
  // One slot per thread and lane is enough; most teams need fewer.
  __shared__ float slots[Team > 1 ? V * Team * Across : 1];
  unsigned across = threadIdx.x % Across, place = threadIdx.x / Across;
  unsigned blocks = (rows / V + Across - 1) / Across;
  for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
    unsigned row = (block * Across + across) * V;
    bool hasRows = row < rows;
    // A thread past the last row has no columns but takes part in barriers.
    Columns columns(body, hasRows ? row : 0, hasRows ? place : cols, cols);
    float results[V][Body::kReductions] = {};
    reduceColumns<0, Team, Across, V>(body, columns, slots, results, row);
    columns.forEach([&](typename Body::Element(&e)[V], unsigned col) {
      body.store(e, results, row, col);
    });
    if (hasRows && place == 0)
      body.finish(results, row);
  }
}

/// Computes rows in one-dimensional blocks of Team * Across threads. Any grid
/// is correct; one block per Across * V rows is a good one. `rows` is a
/// multiple of V.
template <class Body, int Team, int Across, int PerThread, int V>
__device__ inline void column(const Body &body, unsigned rows, unsigned cols) {
  if constexpr (PerThread > 0)
    columnsOf<KeptColumns<Body, Team, PerThread, V>, Team, Across, V>(
        body, rows, cols);
  else
    columnsOf<StreamedColumns<Body, Team, V>, Team, Across, V>(body, rows,
                                                               cols);
}

/// Like column(), with columns in dynamic shared memory.
template <class Body, int Team, int Across, int V>
__device__ inline void columnShared(const Body &body, unsigned rows,
                                    unsigned cols) {
  columnsOf<SharedColumns<Body, Team, Across, V>, Team, Across, V>(body, rows,
                                                                   cols);
}

/// Adds a column's terms to the values of reductions R and later.
template <int R, int V, class Body>
__device__ inline void
addTerms(const Body &body, typename Body::Element (&e)[V],
         float (&values)[V][Body::kReductions], unsigned row, unsigned col) {
  if constexpr (R < Body::kReductions) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v][R] = Body::template combine<R>(
          values[v][R], body.template term<R>(e[v], values[v], row + v, col));
    addTerms<R + 1, V>(body, e, values, row, col);
  }
}

template <int R, int V, class Body>
__device__ inline void startTerms(float (&values)[V][Body::kReductions]) {
  if constexpr (R < Body::kReductions) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v][R] = Body::template identity<R>();
    startTerms<R + 1, V, Body>(values);
  }
}

/// Combines the values of reductions R and later over a team.
template <int R, int Team, int Across, int V, class Body>
__device__ inline void combineTerms(float (&values)[V][Body::kReductions],
                                    float *slots) {
  if constexpr (R < Body::kReductions) {
    float own[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      own[v] = values[v][R];
    combineTeam<Body, R, Team, Across>(own, slots);
#pragma unroll
    for (int v = 0; v < V; ++v)
      values[v][R] = own[v];
    combineTerms<R + 1, Team, Across, V, Body>(values, slots);
  }
}

/// Like column(), for reductions and stores that need no reduction's result:
/// one pass over the columns does all of them.
template <class Body, int Team, int Across, int V>
__device__ inline void columnJoint(const Body &body, unsigned rows,
                                   unsigned cols) {
  constexpr int kValues = V * int(sizeof(typename Body::Element) / 4);
  using Columns =
      StreamedColumns<Body, Team, V, (kValues < 16 ? 32 / kValues : 2)>;
  __shared__ float slots[Team > 1 ? V * Team * Across : 1];
  unsigned across = threadIdx.x % Across, place = threadIdx.x / Across;
  unsigned blocks = (rows / V + Across - 1) / Across;
  for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
    unsigned row = (block * Across + across) * V;
    bool hasRows = row < rows;
    // As in columnsOf(), a thread past the last row has no columns.
    Columns columns(body, hasRows ? row : 0, hasRows ? place : cols, cols);
    float results[V][Body::kReductions];
    startTerms<0, V, Body>(results);
    columns.forEach([&](typename Body::Element(&e)[V], unsigned col) {
      body.store(e, results, row, col);
      addTerms<0, V>(body, e, results, row, col);
    });
    combineTerms<0, Team, Across, V, Body>(results, slots);
    if (hasRows && place == 0)
      body.finish(results, row);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_REDUCTION_COLUMN_CUH
