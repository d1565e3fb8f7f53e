//===- Conv.cpp - Convolutions as contractions ----------------------------===//
//
// y(filter, pixel) = Σ w(filter, tap)·x(tap, pixel). The matrix on the right is
// never formed: its panels are packed from x, or from a copy with the padding
// written out where there are several taps or strides.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Conv.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

namespace {
/// A kernel's widest panel: how many runs or rows one can be packed from.
constexpr int64_t kWidest = 64;

/// Packs pixels from a padded copy of x, for one layout each.
struct PixelPacker {
  const artifact::Conv &problem;
  const MicroKernel &kernel;
  const PaddedInput &padded;
  const void *data;

  int64_t groupChannels() const { return problem.c / problem.groups; }

  /// Matrices are groups of images; a panel's row is one tap of one channel for
  /// all its pixels, a run for each row of outputs it touches.
  void fromPlanes(void *panel, int64_t width, int64_t matrix, int64_t first,
                  int64_t count, int64_t k, int64_t depth) const {
    Run runs[kWidest];
    int64_t runCount = 0;
    for (int64_t done = 0; done < count;) {
      const int64_t row = (first + done) / problem.q;
      const int64_t col = (first + done) % problem.q;
      const int64_t size = std::min(problem.q - col, count - done);
      runs[runCount++] = {done, row * padded.nextRow() + col, size};
      done += size;
    }
    int64_t origins[Contraction::kDepth];
    const int64_t taps = problem.r * problem.s;
    int64_t channel = k / taps + matrix % problem.groups * groupChannels();
    int64_t tap = k % taps;
    for (int64_t i = 0; i < depth; ++i) {
      origins[i] =
          padded.origin(matrix / problem.groups, channel) + padded.tap(tap);
      if (++tap == taps)
        tap = 0, ++channel;
    }
    kernel.packRuns(panel, width, depth, data, origins, runs, runCount);
  }

  /// Matrices are groups; a pixel's taps are contiguous over the channels of a
  /// group, and over a filter's row where that leaves nothing out.
  void fromPixels(void *panel, int64_t width, int64_t matrix, int64_t first,
                  int64_t count, int64_t k, int64_t depth) const {
    const bool whole = problem.groups == 1 && problem.dilationW == 1;
    const int64_t segment = groupChannels() * (whole ? problem.s : 1);
    const int64_t image = problem.p * problem.q;
    int64_t pixels[kWidest];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t pixel = (first + i) % image;
      pixels[i] = padded.origin((first + i) / image, 0) +
                  pixel / problem.q * padded.nextRow() +
                  pixel % problem.q * padded.nextCol();
    }
    for (int64_t done = 0; done < depth;) {
      const int64_t tap = (k + done) / segment, inside = (k + done) % segment;
      const int64_t size = std::min(segment - inside, depth - done);
      const int64_t origin = matrix * groupChannels() + inside +
                             padded.tap(whole ? tap * problem.s : tap);
      const void *rows[kWidest];
      for (int64_t i = 0; i < count; ++i)
        rows[i] = advance(data, (pixels[i] + origin) * kernel.elementBytes);
      kernel.packRows(static_cast<char *>(panel) +
                          done * width * kernel.elementBytes,
                      width, count, size, rows);
      done += size;
    }
  }
};

/// Whether x is the right-hand matrix as it is.
bool isPointwise(const artifact::Conv &problem) {
  return problem.r == 1 && problem.s == 1 && problem.strideH == 1 &&
         problem.strideW == 1 && !problem.padTop && !problem.padLeft &&
         problem.p == problem.h && problem.q == problem.w;
}

/// How much of the work on `extent` columns in whole vectors is of use.
double useful(int64_t extent, int64_t lanes) {
  return double(extent) / double((extent + lanes - 1) / lanes * lanes);
}

bool contract(const artifact::Conv &problem, const MicroKernel &kernel,
              const void *x, const void *w, Output output, ThreadPool &pool) {
  const int64_t pixels = problem.p * problem.q;
  const int64_t filters = problem.k / problem.groups;
  const int64_t channels = problem.c / problem.groups;
  const int64_t depth = channels * problem.r * problem.s;
  const int64_t element = elementBytes(problem.type);
  const bool last = problem.channelsLast;

  auto packFilters = [&](void *panel, int64_t width, int64_t matrix,
                         int64_t first, int64_t count, int64_t k,
                         int64_t deep) {
    const int64_t filter = matrix % problem.groups * filters + first;
    kernel.pack(panel, width, count, deep,
                advance(w, (filter * depth + k) * element), problem.type, depth,
                1);
  };

  // Vectors run along pixels where those are contiguous in y, unless there are
  // so few that filters fill vectors better. Rows are then pixels, as they are
  // where channels come last.
  const bool pixelRows = last || useful(pixels, kernel.lanes) <
                                     0.9 * useful(filters, kernel.lanes);
  output.stride = last ? filters : filters * pixels;
  output.rowStride = last ? problem.k : pixelRows ? 1 : pixels;
  output.colStride = !last && pixelRows ? pixels : 1;
  output.biasPeriod = problem.groups;
  output.biasStride = filters;
  output.biasRow = pixelRows ? 0 : 1;
  output.biasCol = pixelRows ? 1 : 0;

  const int64_t columns = last ? problem.n * pixels : pixels;
  const Contraction contraction(
      kernel, pixelRows ? columns : filters, pixelRows ? filters : columns,
      depth, last ? problem.groups : problem.n * problem.groups, pool.size());
  auto run = [&](PackPanel packPixels) {
    if (pixelRows)
      contraction.run(packPixels, packFilters, output, pool);
    else
      contraction.run(packFilters, packPixels, output, pool);
    return true;
  };

  if (isPointwise(problem)) {
    if (!pool.reserve(contraction.sharedBytes(), contraction.scratchBytes()))
      return false;
    return run([&](void *panel, int64_t width, int64_t matrix, int64_t first,
                   int64_t count, int64_t k, int64_t deep) {
      const int64_t at = last ? first * problem.c + matrix * channels + k
                              : (matrix * channels + k) * pixels + first;
      kernel.pack(panel, width, count, deep, advance(x, at * element),
                  problem.type, last ? problem.c : 1, last ? 1 : pixels);
    });
  }

  const PaddedInput padded(problem, kernel);
  const size_t packed = contraction.sharedBytes();
  if (!padded.bytes() ||
      !pool.reserve(packed + padded.bytes(), contraction.scratchBytes()))
    return false;
  char *copy = static_cast<char *>(pool.sharedScratch()) + packed;
  padded.fill(x, copy, pool);
  const PixelPacker packer{problem, kernel, padded, copy};
  return run([&](void *panel, int64_t width, int64_t matrix, int64_t first,
                 int64_t count, int64_t k, int64_t deep) {
    if (last)
      packer.fromPixels(panel, width, matrix, first, count, k, deep);
    else
      packer.fromPlanes(panel, width, matrix, first, count, k, deep);
  });
}
} // namespace

bool frit::cpu::conv(const artifact::Conv &problem, void *const *arguments,
                     ThreadPool &pool) {
  const bool wide = problem.type == DType::f64;
  if (!wide && (problem.compute == artifact::Compute::f64 ||
                (problem.type != DType::f32 && problem.type != DType::f16 &&
                 problem.type != DType::bf16)))
    return false;
  const MicroKernel &kernel =
      microKernel(pool.isa(), wide ? Accumulator::f64 : Accumulator::f32);

  const void *x = arguments[0], *w = arguments[1];
  arguments += 2;
  Output output;
  output.type = problem.type;
  output.bias = problem.hasBias ? *arguments++ : nullptr;
  output.residual = problem.hasResidual ? *arguments++ : nullptr;
  output.data = *arguments;
  output.activation = problem.activation;
  if (problem.n <= 0 || problem.k <= 0 || problem.p <= 0 || problem.q <= 0)
    return true;

  if (problem.groups == problem.c && problem.c > 1 &&
      (!problem.channelsLast || problem.k == problem.c))
    return depthwise(problem, kernel, x, w, output, pool);
  return contract(problem, kernel, x, w, output, pool);
}
