//===- Depthwise.cpp - Depthwise convolutions -----------------------------===//

#include "runtime/cpu/kernels/Conv.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

namespace {
/// A thread's scratch memory with channels last: the start of each tap's row,
/// and the sums of one tile row.
struct Row {
  const void **taps;
  void *sums;
};

/// Elements of a plane that are computed at a time: sums stay in L1.
constexpr int64_t kPlaneElements = 1024;

/// Rounds up to cache lines.
uint64_t wholeLines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// How a channel is computed with channels first.
struct Plane {
  PaddedInput padded;
  int64_t rows;       ///< of outputs that are computed at a time
  uint64_t bytes;     ///< of the channel with its padding
  uint64_t sumsBytes; ///< of these rows' sums

  Plane(const artifact::Conv &c, const MicroKernel &kernel)
      : padded(c, kernel),
        rows(std::clamp<int64_t>(kPlaneElements / padded.pitch(), 1, c.p)),
        bytes(wholeLines((padded.planeElements() + kernel.cols) *
                         kernel.elementBytes)),
        sumsBytes(wholeLines((rows * padded.pitch() + kernel.cols) *
                             kernel.elementBytes)) {}
};
} // namespace

/// Returns the bytes of all filters in the accumulator's type, including
/// allowed over-read at the end.
static uint64_t weightBytes(const artifact::Conv &problem,
                            const MicroKernel &kernel) {
  return wholeLines((problem.k * problem.r * problem.s + kernel.cols) *
                    kernel.elementBytes);
}

std::optional<ScratchSize>
frit::cpu::depthwiseScratch(const artifact::Conv &problem,
                            const MicroKernel &kernel) {
  const uint64_t taps = problem.r * problem.s,
                 weights = weightBytes(problem, kernel);
  const PaddedInput padded(problem, kernel);
  if (!padded.bytes())
    return std::nullopt;
  if (!problem.channelsLast) {
    const Plane plane(problem, kernel);
    return ScratchSize{weights + wholeLines(taps * sizeof(int64_t)),
                       plane.bytes + 2 * plane.sumsBytes};
  }
  return ScratchSize{padded.bytes() + weights,
                     taps * sizeof(void *) + kernel.cols * kernel.elementBytes};
}

/// Vectors run along channels.
static void computeChannelsLast(const artifact::Conv &problem,
                                const MicroKernel &kernel, const void *x,
                                const void *w, Output output,
                                ThreadPool &pool) {
  PaddedInput padded(problem, kernel);
  const int64_t bytes = kernel.elementBytes, cols = kernel.cols;
  const int64_t taps = problem.r * problem.s;
  char *copy = static_cast<char *>(pool.sharedScratch());
  char *weights = copy + padded.bytes();
  padded.fill(x, copy, pool);
  for (int64_t t = 0; t < taps; ++t)
    kernel.widen(weights + t * problem.k * bytes,
                 advance(w, t * int64_t(elementBytes(problem.type))),
                 problem.type, problem.k, taps, 1, 0, 0);
  output.rowStride = problem.k;
  pool.parallelItems(problem.n * problem.p, [&](int64_t at, unsigned thread) {
    auto *pointers = static_cast<const void **>(pool.scratch(thread));
    const Row row{pointers, pointers + taps};
    for (int64_t q = 0; q < problem.q; ++q)
      for (int64_t c = 0; c < problem.c; c += cols) {
        const char *first =
            copy + (padded.origin(at / problem.p, c) +
                    at % problem.p * padded.nextRow() + q * padded.nextCol()) *
                       bytes;
        for (int64_t t = 0; t < taps; ++t)
          row.taps[t] = first + padded.tap(t) * bytes;
        kernel.taps(row.sums, taps, row.taps, weights + c * bytes, problem.k);
        kernel.store(output, 0, at * problem.q + q, c, 1,
                     std::min(cols, problem.c - c), row.sums);
      }
  });
}

/// Vectors run along a channel's pixels. A thread computes one channel after
/// the other.
static void computePlanes(const artifact::Conv &problem,
                          const MicroKernel &kernel, const void *x,
                          const void *w, Output output, ThreadPool &pool) {
  const Plane plane(problem, kernel);
  const int64_t bytes = kernel.elementBytes, pitch = plane.padded.pitch();
  const int64_t taps = problem.r * problem.s;
  char *weights = static_cast<char *>(pool.sharedScratch());
  auto *offsets =
      reinterpret_cast<int64_t *>(weights + weightBytes(problem, kernel));
  kernel.widen(weights, w, problem.type, problem.k * taps, 1, 1, 0, 0);
  for (int64_t t = 0; t < taps; ++t)
    offsets[t] = plane.padded.tapInPlane(t);
  pool.parallelItems(pool.size(), [&](int64_t thread, unsigned) {
    std::memset(pool.scratch(thread), 0, plane.bytes);
  });
  output.stride = problem.k * problem.p * problem.q;
  output.rowStride = problem.p * problem.q;
  output.biasRow = 1;
  output.biasCol = 0;
  pool.parallelItems(problem.n * problem.k, [&](int64_t at, unsigned thread) {
    const int64_t image = at / problem.k, filter = at % problem.k;
    const int64_t channel =
        image * problem.c + filter / (problem.k / problem.c);
    auto *pixels = static_cast<char *>(pool.scratch(thread));
    char *sums = pixels + plane.bytes, *rows = sums + plane.sumsBytes;
    plane.padded.fillPlane(advance(x, channel * problem.h * problem.w *
                                          int64_t(elementBytes(problem.type))),
                           pixels);
    for (int64_t p = 0; p < problem.p; p += plane.rows) {
      const int64_t count = std::min(plane.rows, problem.p - p);
      kernel.plane(rows, sums, count, problem.q, pitch, taps,
                   pixels + p * pitch * bytes, offsets,
                   weights + filter * taps * bytes);
      kernel.store(output, image, filter, p * problem.q, 1, count * problem.q,
                   rows);
    }
  });
}

void frit::cpu::depthwise(const artifact::Conv &problem,
                          const MicroKernel &kernel, const void *x,
                          const void *w, const Output &output,
                          ThreadPool &pool) {
  if (problem.channelsLast)
    computeChannelsLast(problem, kernel, x, w, output, pool);
  else
    computePlanes(problem, kernel, x, w, output, pool);
}
