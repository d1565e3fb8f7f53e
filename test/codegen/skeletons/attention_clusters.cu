//===- attention_clusters.cu - Checks attention.cuh on sm_90a -------------===//
//
// A few queries of many keys, which the blocks of a cluster divide: a step of a
// language model.
//
//===----------------------------------------------------------------------===//

#include "attention.h"

template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    ranged(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o, float *stats) {
  frit::attention<P>(q, k, v, mask, o, stats);
}

/// Queries and rows to append that are copies, of `Rows` rows from `first` on.
template <class P, int Rows> struct Copied {
  using T = typename P::T;
  static constexpr bool computesQueries = true, early = true;
  static constexpr int appended = Rows;
  const T *q, *k, *v;
  int first;
  __device__ int64_t firstRow(int batch) const { return first + batch; }
  __device__ void query(T *to, unsigned i) const { copy(to, q + i); }
  __device__ void key(T *to, unsigned i) const { copy(to, k + i); }
  __device__ void value(T *to, unsigned i) const { copy(to, v + i); }
  __device__ static void copy(T *to, const T *from) {
    for (int i = 0; i < frit::kPiece<T>; ++i)
      to[i] = from[i];
  }
};

template <class P, int Rows>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    appending(Copied<P, Rows> inputs, typename P::T *k, typename P::T *v,
              const typename P::Mask *mask, typename P::T *o, float *stats) {
  frit::attention<P>(nullptr, k, v, mask, o, stats, inputs);
}

/// Visits the elements of the rows that are appended to a state.
template <class P, int Rows, class Visit>
__device__ void visitAppended(typename P::T *state, typename P::T *rows,
                              int first, const Visit &visit) {
  constexpr int each = Rows * P::size;
  for (int i = threadIdx.x; i < P::batch * P::groups * each; i += blockDim.x) {
    const int head = i / each,
              row = first + head / P::groups + i % each / P::size;
    if (row >= 0 && row < P::keys)
      visit(state[(int64_t(head) * P::keys + row) * P::size + i % P::size],
            rows[i]);
  }
}

/// Moves rows out of a state, in which they become NaN.
template <class P, int Rows>
__global__ void takeOut(typename P::T *state, typename P::T *rows, int first) {
  visitAppended<P, Rows>(state, rows, first,
                         [](typename P::T &place, typename P::T &row) {
                           row = place;
                           frit::store(place, NAN);
                         });
}

/// Counts the rows' elements that a state lacks.
template <class P, int Rows>
__global__ void countMissing(typename P::T *state, typename P::T *rows,
                             int first, float *count) {
  visitAppended<P, Rows>(state, rows, first,
                         [&](typename P::T &place, typename P::T &row) {
                           if (!(frit::load(place) == frit::load(row)))
                             *count = 1;
                         });
}

/// `Cluster` blocks of 16 queries, `TileN` keys per warp and `Splits` warps.
template <class Base, int Cluster, int TileN = 16, int Splits = 4>
struct Divided : Base {
  static constexpr int tileM = 16, rowsPerWarp = 16, tileN = TileN;
  static constexpr int splits = Splits, cluster = Cluster;
};

/// Likewise of up to 8 queries, which are columns of products.
template <class Base, int Cluster, int TileN = 16, int Splits = 4>
struct Few : Divided<Base, Cluster, TileN, Splits> {
  static constexpr int tileM = 8, rowsPerWarp = 8;
};

/// Another number of stages in shared memory.
template <class Base, int Stages> struct Staged : Base {
  static constexpr int stages = Stages;
};

#ifndef __CUDACC_RTC__
#include "hopper.h"

using namespace harness;

template <class P> static void check() {
  using Shape = frit::AttentionShape<P>;
  using T = typename P::T;
  checkAttention<P>(Fill::large, [](const T *q, const T *k, const T *v,
                                    const typename P::Mask *mask, T *o,
                                    float *stats) {
    launchClusters(ranged<P>, int(Shape::kBlocks), Shape::kThreads, P::cluster,
                   Shape::kShared, q, k, v, mask, o, stats);
  });
}

/// Checks `Rows` rows that are appended from `first` + batch on.
template <class P, int Rows> static void checkAppended(int first) {
  using Shape = frit::AttentionShape<P>;
  using T = typename P::T;
  Buffer<T> keys(P::batch * P::groups * Rows * P::size), values(keys.size());
  Buffer<float> missing(1);
  missing[0] = 0;
  missing.upload();
  checkAttention<P>(Fill::large, [&](const T *q, const T *k, const T *v,
                                     const typename P::Mask *mask, T *o,
                                     float *stats) {
    auto *allKeys = const_cast<T *>(k), *allValues = const_cast<T *>(v);
    launch(takeOut<P, Rows>, 1, 32, allKeys, keys.get(), first);
    launch(takeOut<P, Rows>, 1, 32, allValues, values.get(), first);
    launchClusters(appending<P, Rows>, int(Shape::kBlocks), Shape::kThreads,
                   P::cluster, Shape::kShared,
                   Copied<P, Rows>{q, keys.get(), values.get(), first}, allKeys,
                   allValues, mask, o, stats);
    launch(countMissing<P, Rows>, 1, 32, allKeys, keys.get(), first,
           missing.get());
    launch(countMissing<P, Rows>, 1, 32, allValues, values.get(), first,
           missing.get());
  });
  expect("appended rows", missing, {0}, 0);
}

static void checks() {
  // More blocks than there are tiles of keys, and fewer; ranges that leave out
  // the first keys; one query and several.
  check<Divided<Ranged<Problem<f16, 2, 2, 2, 1, 40, 64>, 300>, 8>>();
  check<Divided<Ranged<Problem<bf16, 1, 2, 2, 4, 700, 64>, 900>, 4>>();
  check<Divided<Ranged<Problem<f16, 3, 4, 2, 13, 500, 128>, 100, false, true>,
                8, 32>>();
  check<Divided<Ranged<Problem<f16, 1, 1, 1, 16, 300, 32>, 64, true>, 2, 16,
                1>>();
  check<Divided<Ranged<Problem<bf16, 1, 2, 1, 7, 333, 256>, 400>, 2, 16, 2>>();
  check<Divided<Ranged<Single<Problem<float, 1, 2, 2, 5, 260, 64>, false>, 90>,
                4, 16, 2>>();
  // Rows in the first stage and in a later one, across two, where no query
  // looks, before the first row, and after the last; heads that share rows.
  using Two = Divided<Ranged<Problem<bf16, 2, 4, 2, 3, 300, 64>, 400>, 4>;
  checkAppended<Two, 1>(0);
  checkAppended<Two, 3>(62);
  using Window = Divided<Ranged<Problem<f16, 2, 2, 2, 1, 700, 64>, 300>, 2>;
  checkAppended<Window, 1>(0);
  checkAppended<Window, 2>(690);
  checkAppended<Window, 2>(698);
  checkAppended<Window, 2>(-2);
  checkAppended<
      Divided<Ranged<Single<Problem<float, 1, 2, 2, 5, 260, 64>, false>, 90>, 4,
              16, 2>,
      5>(0);
  // Queries as columns: all 8 and one; one block, and one warp; an odd number
  // of steps, and wide rows; two tiles of queries; no ranges.
  check<Few<Ranged<Problem<f16, 2, 2, 2, 1, 40, 64>, 300>, 8>>();
  check<Few<Ranged<Problem<bf16, 1, 2, 2, 4, 700, 64>, 900>, 4, 32>>();
  check<Few<Ranged<Problem<f16, 3, 4, 2, 8, 500, 128>, 100, false, true>, 8>>();
  check<Few<Ranged<Problem<f16, 1, 1, 1, 5, 300, 80>, 64, true>, 1, 48, 2>>();
  check<Few<Ranged<Problem<bf16, 1, 2, 1, 7, 333, 256>, 400>, 2, 16, 1>>();
  check<Few<Narrow<Problem<bf16, 1, 2, 2, 11, 260, 32>>, 2>>();
  check<Few<Backward<Problem<f16, 1, 2, 2, 2, 90, 16>>, 1, 16, 1>>();
  using FewAppended = Few<Ranged<Problem<bf16, 2, 4, 2, 3, 900, 128>, 400>, 4>;
  checkAppended<FewAppended, 1>(0);
  checkAppended<FewAppended, 3>(62);
  checkAppended<FewAppended, 1>(700);
  checkAppended<FewAppended, 2>(898);
  checkAppended<Staged<FewAppended, 1>, 1>(700);
  checkAppended<Staged<FewAppended, 1>, 3>(62);
  checkAppended<Staged<FewAppended, 3>, 1>(898);
  check<
      Staged<Divided<Ranged<Problem<f16, 1, 2, 2, 13, 700, 64>, 400>, 2>, 1>>();
  checkAppended<Few<Ranged<Problem<f16, 2, 2, 2, 1, 700, 64>, 300>, 2>, 2>(-2);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
