//===- group_norm.cuh - Group norms with channels last --------------------===//
//
// y = store(group_norm(load(x))) of samples × pixels × channels. A cluster has
// a run of adjacent groups of a sample, and its blocks divide the pixels. Each
// thread keeps vectors of channels in registers, so that x is read once: first
// for the mean of the block's part of each group, then for the squares of what
// deviates from it. The blocks' moments are merged (Chan, Golub and LeVeque,
// 1979), and the vectors normalized.
//
// The fusion is a Body:
//
//   using T = frit::f16;                              // or bf16; rounds load's
//   static constexpr int samples, pixels, channels, groups;
//   static constexpr float epsilon;
//   // Of the elements from `channel` on:
//   void load(Pack<T, 8> &to, unsigned sample, unsigned pixel,
//             unsigned channel) const;
//   void factors(float (&scale)[8], float (&bias)[8], unsigned channel) const;
//   void store(const float (&norm)[8], unsigned sample, unsigned pixel,
//              unsigned channel) const;
//
// There are fewer than 2^31 elements. Launch with GroupNormPlan::kShared bytes
// of dynamic shared memory and
//
//   threads  = Threads, a multiple of 32
//   cluster  = Cluster; each of its blocks has pixels
//   grid.x   = samples · groups / Run · Cluster
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_GROUP_NORM_CUH
#define FRIT_CODEGEN_CUDA_REDUCTION_GROUP_NORM_CUH

#include "frit/tma.cuh"

#if (FRIT_EMULATE >= 90 || __CUDA_ARCH__ >= 900) && !defined(FRIT_HAS_CLUSTERS)
#define FRIT_HAS_CLUSTERS
#endif

namespace frit {

/// Elements of a thread's vector.
inline constexpr int kNormVector = 8;

template <int Run, int Cluster, int Threads, class Body> struct GroupNormPlan {
  /// Channels of a group; vectors of a pixel; pixels that the threads read at a
  /// time, and those of a block.
  static constexpr int kEach = Body::channels / Body::groups;
  static constexpr int kVectors = Run * kEach / kNormVector;
  static constexpr int kRows = Threads / kVectors;
  static constexpr int kPixels = (Body::pixels + Cluster - 1) / Cluster;
  /// Vectors of a thread.
  static constexpr int kSteps = (kPixels + kRows - 1) / kRows;
  static constexpr int kRuns = Body::groups / Run;
  static constexpr int kWarps = Threads / 32;
  /// Floats in shared memory: each warp's sums and their total, and the moments
  /// of the block and of the cluster.
  static constexpr int kShared = (kWarps + 1 + 4) * Run * 4;

  static_assert(Run * kEach % kNormVector == 0 && Body::groups % Run == 0);
  static_assert(kRows > 0 && (Cluster - 1) * kPixels < Body::pixels);

  /// Returns the elements of a group that a block has.
  __device__ static constexpr float countOf(int rank) {
    const int rest = Body::pixels - rank * kPixels;
    return float(rest < kPixels ? rest : kPixels) * kEach;
  }
  /// Returns the group of a run that a channel of it belongs to.
  __device__ static int groupOf(int column, int v) {
    return kEach % kNormVector == 0 ? column * kNormVector / kEach
                                    : (column * kNormVector + v) / kEach;
  }
};

/// Sums numbers of the channels of each group over the block's threads. Returns
/// where shared memory has the sums, from `shared` on.
template <class Plan, int Run>
__device__ inline const float *sumGroups(const float (&own)[kNormVector],
                                         int column, float *shared) {
  float sums[Run] = {};
#pragma unroll
  for (int v = 0; v < kNormVector; ++v) {
    const int group = Plan::groupOf(column, v);
#pragma unroll
    for (int g = 0; g < Run; ++g)
      sums[g] += Run == 1 || g == group ? own[v] : 0;
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
#pragma unroll
    for (int g = 0; g < Run; ++g)
      sums[g] += __shfl_xor_sync(~0u, sums[g], lanes);
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int g = 0; g < Run; ++g)
      shared[threadIdx.x / 32 * Run + g] = sums[g];
  __syncthreads();
  float *const total = shared + Plan::kWarps * Run;
  if (threadIdx.x < Run) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < Plan::kWarps; ++warp)
      sum += shared[warp * Run + threadIdx.x];
    total[threadIdx.x] = sum;
  }
  __syncthreads();
  return total;
}

/// Merges the moments of a group of all blocks: a mean and a sum of squared
/// deviations each, `moments` in shared memory. Returns the mean and the
/// variance.
template <class Plan, int Cluster>
__device__ inline void mergeBlocks(const float *moments, float &mean,
                                   float &variance) {
  float means[Cluster], squares[Cluster], count = 0;
#pragma unroll
  for (int rank = 0; rank < Cluster; ++rank) {
    const float *there = moments;
#ifdef FRIT_HAS_CLUSTERS
    if constexpr (Cluster > 1)
      there = sameInBlock(moments, rank);
#endif
    means[rank] = there[0];
    squares[rank] = there[1];
    count += Plan::countOf(rank);
  }
  mean = variance = 0;
#pragma unroll
  for (int rank = 0; rank < Cluster; ++rank)
    mean += means[rank] * (Plan::countOf(rank) / count);
#pragma unroll
  for (int rank = 0; rank < Cluster; ++rank) {
    const float apart = means[rank] - mean;
    variance += squares[rank] + Plan::countOf(rank) * apart * apart;
  }
  variance /= count;
}

template <int Run, int Cluster, int Threads, class Body>
__device__ inline void groupNorm(const Body &body) {
  using Plan = GroupNormPlan<Run, Cluster, Threads, Body>;
  using T = typename Body::T;
  constexpr int kSteps = Plan::kSteps;
  float *const shared = dynamicShared<float>();
  float *const moments = shared + (Plan::kWarps + 1) * Run;
  float *const merged = moments + 2 * Run;

  const unsigned cluster = blockIdx.x / Cluster;
  int rank = 0;
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (Cluster > 1)
    rank = int(clusterRank());
#else
  static_assert(Cluster == 1);
#endif
  const int column = threadIdx.x % Plan::kVectors;
  const int row = threadIdx.x / Plan::kVectors;
  const unsigned sample = cluster / Plan::kRuns;
  const unsigned channel =
      cluster % Plan::kRuns * (Run * Plan::kEach) + column * kNormVector;
  const int first = rank * Plan::kPixels + row;
  const int end = (rank + 1) * Plan::kPixels < Body::pixels
                      ? (rank + 1) * Plan::kPixels
                      : Body::pixels;
  // Whether the thread has a vector of this step.
  auto has = [&](int step) {
    return row < Plan::kRows && first + step * Plan::kRows < end;
  };
  auto pixel = [&](int step) { return unsigned(first + step * Plan::kRows); };

  pdlWait();
  Pack<T, kNormVector> kept[kSteps] = {};
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (has(step))
      body.load(kept[step], sample, pixel(step), channel);
  float scale[kNormVector], bias[kNormVector];
  body.factors(scale, bias, channel);

  float own[kNormVector] = {}, mean[kNormVector];
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int v = 0; v < kNormVector; ++v)
      own[v] += load(kept[step].at[v]);
  const float *total = sumGroups<Plan, Run>(own, column, shared);
  const float count = Plan::countOf(rank);
#pragma unroll
  for (int v = 0; v < kNormVector; ++v) {
    mean[v] = total[Plan::groupOf(column, v)] / count;
    own[v] = 0;
  }
  if (threadIdx.x < Run)
    moments[threadIdx.x * 2] = total[threadIdx.x] / count;
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (has(step))
#pragma unroll
      for (int v = 0; v < kNormVector; ++v) {
        const float apart = load(kept[step].at[v]) - mean[v];
        own[v] += apart * apart;
      }
  total = sumGroups<Plan, Run>(own, column, shared);
  if (threadIdx.x < Run)
    moments[threadIdx.x * 2 + 1] = total[threadIdx.x];
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (Cluster > 1) {
    arriveClusterShared();
    waitCluster();
  }
#endif
  if (threadIdx.x < Run) {
    float middle, variance;
    mergeBlocks<Plan, Cluster>(moments + threadIdx.x * 2, middle, variance);
    merged[threadIdx.x * 2] = middle;
    merged[threadIdx.x * 2 + 1] = rsqrt(variance + Body::epsilon);
  }
  __syncthreads();
  // No block ends while another reads its moments.
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (Cluster > 1)
    arriveClusterRelaxed();
#endif
#pragma unroll
  for (int v = 0; v < kNormVector; ++v) {
    const int group = Plan::groupOf(column, v);
    mean[v] = merged[group * 2];
    scale[v] *= merged[group * 2 + 1];
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (has(step)) {
      float norm[kNormVector];
#pragma unroll
      for (int v = 0; v < kNormVector; ++v)
        norm[v] = (load(kept[step].at[v]) - mean[v]) * scale[v] + bias[v];
      body.store(norm, sample, pixel(step), channel);
    }
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (Cluster > 1)
    waitCluster();
#endif
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_REDUCTION_GROUP_NORM_CUH
