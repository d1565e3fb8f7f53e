//===- Depthwise.cpp - Depthwise convolutions -----------------------------===//

#include "runtime/cpu/kernels/Conv.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using namespace frit::cpu;

namespace {
/// A thread's scratch memory: the start of each tap's row, and the sums of one
/// tile row.
struct Row {
  const void **taps;
  void *sums;
};
} // namespace

/// Returns the bytes of all filters in the accumulator's type, including
/// allowed over-read at the end.
static uint64_t weightBytes(const artifact::Conv &problem,
                            const MicroKernel &kernel) {
  return (problem.k * problem.r * problem.s + kernel.cols) *
         kernel.elementBytes;
}

std::optional<ScratchSize>
frit::cpu::depthwiseScratch(const artifact::Conv &problem,
                            const MicroKernel &kernel) {
  const PaddedInput padded(problem, kernel);
  if (!padded.bytes())
    return std::nullopt;
  return ScratchSize{padded.bytes() + weightBytes(problem, kernel),
                     problem.r * problem.s * sizeof(void *) +
                         kernel.cols * kernel.elementBytes};
}

void frit::cpu::depthwise(const artifact::Conv &problem,
                          const MicroKernel &kernel, const void *x,
                          const void *w, const Output &given,
                          ThreadPool &pool) {
  PaddedInput padded(problem, kernel);
  const int64_t bytes = kernel.elementBytes, cols = kernel.cols;
  const int64_t taps = problem.r * problem.s;
  const int64_t pixels = problem.p * problem.q;
  char *copy = static_cast<char *>(pool.sharedScratch());
  char *weights = copy + padded.bytes();
  padded.fill(x, copy, pool);

  auto rowOf = [&](unsigned thread) {
    auto *pointers = static_cast<const void **>(pool.scratch(thread));
    return Row{pointers, pointers + taps};
  };
  auto aim = [&](Row row, int64_t image, int64_t channel, int64_t offset) {
    const char *first = copy + (padded.origin(image, channel) + offset) * bytes;
    for (int64_t t = 0; t < taps; ++t)
      row.taps[t] = first + padded.tap(t) * bytes;
  };

  Output output = given;
  if (problem.channelsLast) { // vectors run along channels
    for (int64_t t = 0; t < taps; ++t)
      kernel.widen(weights + t * problem.k * bytes,
                   advance(w, t * int64_t(elementBytes(problem.type))),
                   problem.type, problem.k, taps);
    output.rowStride = problem.k;
    pool.parallelItems(problem.n * problem.p, [&](int64_t at, unsigned thread) {
      const Row row = rowOf(thread);
      for (int64_t q = 0; q < problem.q; ++q)
        for (int64_t c = 0; c < problem.c; c += cols) {
          aim(row, at / problem.p, c,
              at % problem.p * padded.nextRow() + q * padded.nextCol());
          kernel.taps(row.sums, taps, row.taps, weights + c * bytes, problem.k,
                      true);
          kernel.store(output, 0, at * problem.q + q, c, 1,
                       std::min(cols, problem.c - c), row.sums);
        }
    });
    return;
  }

  kernel.widen(weights, w, problem.type, problem.k * taps, 1);
  output.stride = problem.k * pixels;
  output.rowStride = pixels;
  output.biasRow = 1;
  output.biasCol = 0;
  pool.parallelItems(problem.n * problem.k, [&](int64_t at, unsigned thread) {
    const Row row = rowOf(thread);
    const int64_t image = at / problem.k, filter = at % problem.k;
    const int64_t channel = filter / (problem.k / problem.c);
    for (int64_t p = 0; p < problem.p; ++p)
      for (int64_t q = 0; q < problem.q; q += cols) {
        aim(row, image, channel, p * padded.nextRow() + q);
        kernel.taps(row.sums, taps, row.taps, weights + filter * taps * bytes,
                    1, false);
        kernel.store(output, image, filter, p * problem.q + q, 1,
                     std::min(cols, problem.q - q), row.sums);
      }
  });
}
