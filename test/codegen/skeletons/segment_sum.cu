//===- segment_sum.cu - Checks segment_sum.cuh ----------------------------===//

#include "frit/segment_sum.cuh"

template <class T, int Threads, int V, int64_t Columns, int Count,
          int64_t Segments>
__global__ void sums(const T *x, const int64_t *order, const int64_t *segments,
                     T *y) {
  frit::segmentSum<T, Threads, V, Columns, Count, Segments>(x, order, segments,
                                                            y);
}

extern "C" __global__ void __launch_bounds__(480)
    sums_768(const frit::bf16 *x, const int64_t *order, const int64_t *segments,
             frit::bf16 *y) {
  frit::segmentSum<frit::bf16, 480, 8, 768, 16384, 50304>(x, order, segments,
                                                          y);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

/// Every `most`-th row is a segment of its own; the others belong to a few
/// segments.
template <class T, int Threads, int V, int64_t Columns, int Count,
          int64_t Segments>
static void check(int most) {
  Buffer<T> x(Count * Columns), y(Segments * Columns);
  Buffer<int64_t> order(Count), segments(Count);
  x.randomize(Count);
  std::vector<double> want(y.size());
  std::vector<std::vector<int>> rows(Segments);
  for (int i = 0; i < Count; ++i)
    rows[i % most ? i % 3 * (Segments - 1) / 2 : i * 7 % Segments].push_back(i);
  int next = 0;
  for (int64_t segment = 0; segment < Segments; ++segment)
    for (int row : rows[segment]) {
      order[next] = row;
      segments[next++] = segment;
      for (int64_t column = 0; column < Columns; ++column)
        want[segment * Columns + column] += toDouble(x[row * Columns + column]);
    }
  order.upload();
  segments.upload();
  launch(sums<T, Threads, V, Columns, Count, Segments>, (Segments + 31) / 32,
         Threads, x.get(), order.get(), segments.get(), y.get());
  expect("sums of " + std::to_string(Count) + " rows of " +
             std::to_string(Columns),
         y, want, epsilonOf<T>());
}

static void checks() {
  check<bf16, 64, 8, 96, 300, 70>(2);    // long segments, several teams
  check<f16, 160, 8, 256, 40, 33>(1);    // short ones, and empty ones
  check<float, 64, 4, 520, 90, 5>(3);    // one team, two rounds of columns
  check<float, 512, 1, 3, 1000, 64>(50); // few columns, idle threads
  check<bf16, 128, 2, 6, 1, 2>(1);       // a single row
}

static void benches() {
#ifndef FRIT_EMULATE
  constexpr int count = 16384, columns = 768, size = 50304;
  Buffer<bf16> x(count * columns), y(size_t(size) * columns);
  Buffer<int64_t> order(count), segments(count);
  x.randomize(1);
  for (int i = 0; i < count; ++i) {
    order[i] = i * 5 % count;
    segments[i] = int64_t(i) * 3;
  }
  order.upload();
  segments.upload();
  bench("sums of 16384 rows in 50304 segments", 2e-9 * (x.size() + y.size()),
        "GB/s", [&] {
          launch(sums_768, (size + 31) / 32, 480, x.get(), order.get(),
                 segments.get(), y.get());
        });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
