//===- Depthwise.cpp - Depthwise convolutions -----------------------------===//

#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/cpu/kernels/PixelPieces.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

namespace {
/// Elements of a plane that are computed at a time: sums stay in L1.
constexpr int64_t kPlaneElements = 1024;

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

namespace {
/// How pixels are computed with channels last.
struct Pixels {
  /// Maximum pixels of a part, and of pointers that are listed for it.
  static constexpr int64_t kPart = 192, kPointers = 8192;

  PixelPieces pieces;
  bool converts; ///< results go through a tile in the accumulator's type
  int64_t pixels, parts, stride;
  uint64_t tableBytes, tileBytes;

  Pixels(const artifact::Conv &c, const MicroKernel &kernel, unsigned threads)
      : pieces(c, kernel, int64_t(elementBytes(c.type)) != kernel.elementBytes),
        converts(int64_t(elementBytes(c.type)) != kernel.elementBytes),
        pixels(c.n * c.p * c.q) {
    const int64_t taps = pieces.taps(), tiles = ceilDiv(pixels, kPixelRows);
    const int64_t most =
        std::clamp<int64_t>(kPointers / taps, kPixelRows, kPart);
    parts = std::min(tiles, std::max<int64_t>(ceilDiv(pixels, most),
                                              threads == 1 ? 1 : 4 * threads));
    stride = ceilDiv(tiles, parts) * kPixelRows + kPixelRows;
    tableBytes = wholeLines(stride * taps * sizeof(void *));
    tileBytes = converts ? kPixelRows * c.k * kernel.elementBytes +
                               kernel.cols * kernel.elementBytes
                         : 0;
  }
};
} // namespace

std::optional<ScratchSize>
frit::cpu::depthwiseScratch(const artifact::Conv &problem,
                            const MicroKernel &kernel, unsigned threads) {
  const uint64_t taps = problem.r * problem.s,
                 weights = weightBytes(problem, kernel);
  if (!problem.channelsLast) {
    if (!PaddedInput(problem, kernel).bytes())
      return std::nullopt;
    const Plane plane(problem, kernel);
    return ScratchSize{weights + wholeLines(taps * sizeof(int64_t)),
                       plane.bytes + 2 * plane.sumsBytes};
  }
  const Pixels pixels(problem, kernel, threads);
  const std::optional<uint64_t> bytes = pixels.pieces.bytes();
  if (!bytes)
    return std::nullopt;
  return ScratchSize{*bytes + weights, pixels.tableBytes + pixels.tileBytes};
}

PackedForm frit::cpu::depthwiseForm(const artifact::Conv &problem,
                                    const MicroKernel &kernel) {
  if (!problem.channelsLast)
    return {};
  return {weightBytes(problem, kernel), 3};
}

/// Puts the filters of a tap beside each other.
void frit::cpu::packDepthwiseFilters(const artifact::Conv &problem,
                                     const MicroKernel &kernel,
                                     const void *filters, void *to) {
  const int64_t taps = problem.r * problem.s;
  for (int64_t t = 0; t < taps; ++t)
    kernel.widen(static_cast<char *>(to) + t * problem.k * kernel.elementBytes,
                 advance(filters, t * int64_t(elementBytes(problem.type))),
                 problem.type, problem.k, taps, 1, 0, 0);
}

/// Vectors run along channels.
static void computePixels(const artifact::Conv &problem,
                          const MicroKernel &kernel, const void *x,
                          const void *w, const void *packed,
                          const Output &output, ThreadPool &pool) {
  Pixels own(problem, kernel, pool.size());
  auto *shared = static_cast<char *>(pool.sharedScratch());
  own.pieces.prepare(x, shared, pool);
  if (!packed) {
    char *weights = shared + *own.pieces.bytes();
    packDepthwiseFilters(problem, kernel, w, weights);
    packed = weights;
  }
  const int64_t tiles = ceilDiv(own.pixels, kPixelRows);
  pool.parallelItems(own.parts, [&](int64_t part, unsigned thread) {
    const int64_t first = tiles * part / own.parts * kPixelRows;
    const int64_t end =
        std::min(own.pixels, tiles * (part + 1) / own.parts * kPixelRows);
    auto *scratch = static_cast<char *>(pool.scratch(thread));
    auto **table = reinterpret_cast<const void **>(scratch);
    own.pieces.list(table, own.stride, first, end - first);
    for (int64_t pixel = first; pixel < end; pixel += kPixelRows) {
      const int64_t count = std::min(kPixelRows, end - pixel);
      auto run = [&](const Output &to, int64_t at) {
        kernel.depthwise(to, at, count, problem.c, own.pieces.taps(),
                         table + (pixel - first), own.stride, packed);
      };
      if (!own.converts) {
        run(output, pixel * problem.k);
        continue;
      }
      Output sums;
      char *tile = scratch + own.tableBytes;
      sums.data = tile;
      sums.rowStride = problem.k;
      run(sums, 0);
      for (int64_t i = 0; i < count; ++i)
        kernel.store(output, 0, pixel + i, 0, 1, problem.k,
                     tile + i * problem.k * kernel.elementBytes);
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
                          const void *w, const void *packed,
                          const Output &output, ThreadPool &pool) {
  if (problem.channelsLast)
    computePixels(problem, kernel, x, w, packed, output, pool);
  else
    computePlanes(problem, kernel, x, w, output, pool);
}
