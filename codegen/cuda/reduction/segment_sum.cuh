//===- segment_sum.cuh - Sums of rows by segment --------------------------===//
//
// y[s] is the sum of the rows x[order[i]] with segments[i] == s, in f32 and in
// order of i. `segments` is ascending, so a segment's rows are neighbours. A
// block has several consecutive segments and finds their first rows by binary
// search. It has several teams, each of which covers the columns. In a long
// segment each team adds a part of the rows.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_SEGMENT_SUM_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_SEGMENT_SUM_CUH

#include "frit/base.cuh"

namespace frit {

/// Segments per block.
inline constexpr int kBlockSegments = 32;

/// Returns the number of elements of the ascending list that are below `value`.
__device__ inline int countBelow(const int64_t *list, int count,
                                 int64_t value) {
  int first = 0;
  while (count > 0) {
    int half = count / 2;
    if (list[first + half] < value) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

/// Adds up `Segments` segments of `Count` rows of `Columns` elements, a
/// multiple of V. The grid has a block for every kBlockSegments of them.
template <class T, int Threads, int V, int64_t Columns, int Count,
          int64_t Segments>
__device__ inline void segmentSum(const T *x, const int64_t *order,
                                  const int64_t *segments, T *y) {
  constexpr int kLanes = Columns / V < Threads ? int(Columns / V) : Threads;
  constexpr int kTeams = Threads / kLanes;
  /// Maximum rows of a segment that one team adds alone.
  constexpr int kShort = 16;
  __shared__ int begins[kBlockSegments + 1];
  __shared__ __align__(16) float parts[kTeams][kLanes * V];
  const int64_t first = int64_t(blockIdx.x) * kBlockSegments;
  const int here = Segments - first < kBlockSegments ? int(Segments - first)
                                                     : kBlockSegments;
  if (int(threadIdx.x) <= here)
    begins[threadIdx.x] = countBelow(segments, Count, first + threadIdx.x);
  __syncthreads();

  const int team = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  auto sumRows = [&](float (&sum)[V], int begin, int end, int step,
                     int64_t column) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      sum[v] = 0;
#pragma unroll 4
    for (int i = begin; i < end; i += step) {
      float row[V];
      loadVector(row, x + order[i] * Columns + column);
#pragma unroll
      for (int v = 0; v < V; ++v)
        sum[v] += row[v];
    }
  };
  for (int i = 0; i < here; ++i) {
    const int begin = begins[i], end = begins[i + 1];
    const bool shared = kTeams > 1 && end - begin > kShort;
    if (!shared && i % kTeams != team)
      continue;
    for (int64_t at = 0; at < Columns; at += kLanes * V) {
      const int64_t column = at + lane * V;
      const bool has = team < kTeams && column < Columns;
      float sum[V] = {};
      if (has)
        sumRows(sum, shared ? begin + team : begin, end, shared ? kTeams : 1,
                column);
      if (shared) {
        if (has)
          storeVector(parts[team] + lane * V, sum);
        __syncthreads();
        if (has && team == 0)
          for (int other = 1; other < kTeams; ++other) {
            float part[V];
            loadVector(part, parts[other] + lane * V);
#pragma unroll
            for (int v = 0; v < V; ++v)
              sum[v] += part[v];
          }
      }
      if (has && (!shared || team == 0))
        storeVector(y + (first + i) * Columns + column, sum);
      if (shared)
        __syncthreads();
    }
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_REDUCTION_SEGMENT_SUM_CUH
