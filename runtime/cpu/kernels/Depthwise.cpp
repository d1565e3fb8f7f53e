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

/// A channel with its padding written out, channels first. Rows and columns are
/// grouped by their remainders modulo the strides ("phases"). In all taps, the
/// next output is then the next element, and the next row of outputs `pitch`
/// elements further, so that rows are computed as one: what lies between them
/// is dropped.
struct Plane {
  const artifact::Conv &problem;
  int64_t phaseRows, pitch;
  int64_t elements; ///< with what is read past the end
  int64_t rows;     ///< of outputs that are computed at a time
  int64_t sums;     ///< elements of these, with what is written past the end

  Plane(const artifact::Conv &c, const MicroKernel &kernel)
      : problem(c), phaseRows(c.p + (c.r - 1) * c.dilationH / c.strideH),
        pitch(c.q + (c.s - 1) * c.dilationW / c.strideW),
        elements(c.strideH * c.strideW * phaseRows * pitch + kernel.cols),
        rows(std::clamp<int64_t>(kPlaneElements / pitch, 1, c.p)),
        sums(rows * pitch + kernel.cols) {}

  bool overflows() const {
    return double(problem.strideH) * double(problem.strideW) *
                   double(phaseRows) * double(pitch) >
               1e13 ||
           double(problem.k) * double(problem.r) * double(problem.s) > 1e12;
  }
  int64_t at(int64_t row, int64_t col) const {
    const int64_t phase =
        row % problem.strideH * problem.strideW + col % problem.strideW;
    return (phase * phaseRows + row / problem.strideH) * pitch +
           col / problem.strideW;
  }
  /// Writes a channel's pixels; padding is zero already.
  void fill(const MicroKernel &kernel, const void *from, char *to) const;
};

void Plane::fill(const MicroKernel &kernel, const void *from, char *to) const {
  const auto &c = problem;
  const int64_t element = elementBytes(c.type);
  const int64_t end =
      std::min(c.h, c.strideH * phaseRows - c.padTop); // rows of the image
  for (int64_t phase = 0; phase < std::min(c.strideW, c.s * c.dilationW);
       ++phase) {
    // Column j of a phase is column j · stride + shift of the image.
    const int64_t shift = phase - c.padLeft;
    const int64_t first =
        std::clamp<int64_t>((c.strideW - 1 - shift) / c.strideW, 0, pitch);
    const int64_t last = std::clamp<int64_t>(
        (c.w - shift + c.strideW - 1) / c.strideW, first, pitch);
    if (first == last)
      continue;
    for (int64_t y = std::max<int64_t>(0, -c.padTop); y < end; ++y)
      kernel.widen(
          to + (at(y + c.padTop, phase) + first) * kernel.elementBytes,
          advance(from, (y * c.w + first * c.strideW + shift) * element),
          c.type, last - first, c.strideW);
  }
}
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
  if (!problem.channelsLast) {
    const Plane plane(problem, kernel);
    if (plane.overflows())
      return std::nullopt;
    return ScratchSize{weights + wholeLines(taps * sizeof(int64_t)),
                       wholeLines(plane.elements * kernel.elementBytes) +
                           2 * wholeLines(plane.sums * kernel.elementBytes)};
  }
  const PaddedInput padded(problem, kernel);
  if (!padded.bytes())
    return std::nullopt;
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
                 problem.type, problem.k, taps);
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
  const int64_t bytes = kernel.elementBytes;
  const int64_t taps = problem.r * problem.s;
  const int64_t planeBytes = wholeLines(plane.elements * bytes);
  char *weights = static_cast<char *>(pool.sharedScratch());
  auto *offsets =
      reinterpret_cast<int64_t *>(weights + weightBytes(problem, kernel));
  kernel.widen(weights, w, problem.type, problem.k * taps, 1);
  for (int64_t t = 0; t < taps; ++t)
    offsets[t] = plane.at(t / problem.s * problem.dilationH,
                          t % problem.s * problem.dilationW);
  pool.parallelFor(pool.size(), [&](int64_t thread, int64_t end) {
    for (; thread < end; ++thread)
      std::memset(pool.scratch(thread), 0, planeBytes);
  });
  output.stride = problem.k * problem.p * problem.q;
  output.rowStride = problem.p * problem.q;
  output.biasRow = 1;
  output.biasCol = 0;
  pool.parallelItems(problem.n * problem.k, [&](int64_t at, unsigned thread) {
    const int64_t image = at / problem.k, filter = at % problem.k;
    const int64_t channel = filter / (problem.k / problem.c);
    auto *pixels = static_cast<char *>(pool.scratch(thread));
    char *sums = pixels + planeBytes,
         *rows = sums + wholeLines(plane.sums * bytes);
    plane.fill(kernel,
               advance(x, (image * problem.c + channel) * problem.h *
                              problem.w * int64_t(elementBytes(problem.type))),
               pixels);
    for (int64_t p = 0; p < problem.p; p += plane.rows) {
      const int64_t count = std::min(plane.rows, problem.p - p);
      kernel.plane(rows, sums, count, problem.q, plane.pitch, taps,
                   pixels + p * plane.pitch * bytes, offsets,
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
