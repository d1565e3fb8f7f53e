//===- Conv.cpp - Convolutions as contractions ----------------------------===//
//
// y(filter, pixel) = Σ w(filter, tap)·x(tap, pixel). The right-hand matrix
// (im2col) is never stored: its panels are packed from x, or, with several taps
// or strides, from a copy of x with its padding written out.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/kernels/Conv.h"
#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

namespace {
/// Maximum width of a panel over all micro-kernels, and so the maximum of runs
/// or rows that a panel is packed from.
constexpr int64_t kWidest = 64;
/// All columns of a copy, past which a vector may be read.
constexpr int64_t kAll = int64_t(1) << 56;

/// Packs panels of pixels from the padded copy of x, in either layout.
struct PixelPacker {
  const artifact::Conv &problem;
  const MicroKernel &kernel;
  const PaddedInput &padded;
  const void *data;

  int64_t groupChannels() const { return problem.c / problem.groups; }

  /// Channels first. One matrix per image and group. A panel's row is one tap
  /// of one channel for all the panel's pixels, with a run per row of outputs.
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

  /// Channels last. One matrix per group. A pixel's taps are contiguous over
  /// the group's channels, and over a filter row if there is one group and no
  /// dilation.
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

/// Returns whether x is the right-hand matrix as it lies in memory (1×1, no
/// stride or padding).
bool isPointwise(const artifact::Conv &problem) {
  return problem.r == 1 && problem.s == 1 && problem.strideH == 1 &&
         problem.strideW == 1 && !problem.padTop && !problem.padLeft &&
         problem.p == problem.h && problem.q == problem.w;
}

/// Cycles, about, to store an element of a tile whose rows are apart in y.
constexpr double kScatteredStore = 5;

/// A convolution as a product of matrices.
struct Matrices {
  int64_t pixels, filters, channels, depth; ///< per group; pixels per image
  bool last;
  /// Whether the matrix's rows are pixels. They are with channels last. With
  /// channels first, vectors run along pixels, which are contiguous in y,
  /// unless there are so few that filters fill vectors much better.
  bool pixelRows;
  /// Not 0: the right-hand matrix is read where it lies, with pixels in rows of
  /// this many elements.
  int64_t pitch;
  Contraction contraction;

  Matrices(const artifact::Conv &problem, const MicroKernel &kernel,
           unsigned threads)
      : pixels(problem.p * problem.q), filters(problem.k / problem.groups),
        channels(problem.c / problem.groups),
        depth(channels * problem.r * problem.s), last(problem.channelsLast),
        pixelRows(last || fillsFewer(kernel)), pitch(pitchOf(problem, kernel)),
        contraction(kernel, pixelRows ? columns(problem) : filters,
                    pixelRows ? filters : columns(problem), depth,
                    last ? problem.groups : problem.n * problem.groups,
                    threads) {}

private:
  /// Returns whether vectors of filters save more multiplications, one a cycle,
  /// than storing the result takes longer.
  bool fillsFewer(const MicroKernel &kernel) const {
    auto vectors = [&](int64_t elements) {
      return double((elements + kernel.lanes - 1) / kernel.lanes);
    };
    const double saved =
        vectors(pixels) * double(filters) - double(pixels) * vectors(filters);
    return saved * double(depth) >
           kScatteredStore * double(pixels) * double(filters);
  }
  int64_t columns(const artifact::Conv &problem) const {
    if (pitch)
      return (problem.p - 1) * pitch + problem.q;
    return last ? problem.n * pixels : pixels;
  }
  int64_t pitchOf(const artifact::Conv &problem,
                  const MicroKernel &kernel) const {
    if (pixelRows)
      return 0;
    if (isPointwise(problem))
      return int64_t(elementBytes(problem.type)) == kernel.elementBytes
                 ? problem.q
                 : 0;
    // What is computed between rows must cost less than packing would.
    const int64_t rows = PaddedInput(problem, kernel).pitch();
    auto vectors = [&](int64_t elements) {
      return double((elements + kernel.lanes - 1) / kernel.lanes);
    };
    return vectors((problem.p - 1) * rows + problem.q) <= 1.1 * vectors(pixels)
               ? rows
               : 0;
  }
};

std::optional<ScratchSize> contractScratch(const artifact::Conv &problem,
                                           const MicroKernel &kernel,
                                           unsigned threads) {
  const Matrices matrices(problem, kernel, threads);
  ScratchSize size = matrices.contraction.scratch();
  if (matrices.pitch)
    size.shared += matrices.depth * sizeof(int64_t);
  if (isPointwise(problem))
    return size;
  const uint64_t bytes = PaddedInput(problem, kernel).bytes();
  if (!bytes)
    return std::nullopt;
  size.shared += bytes;
  return size;
}

/// Packs panels of filters.
struct WeightPacker {
  const artifact::Conv &problem;
  const MicroKernel &kernel;
  const void *w;

  void operator()(void *panel, int64_t width, int64_t matrix, int64_t first,
                  int64_t count, int64_t k, int64_t deep) const {
    const int64_t depth = problem.c / problem.groups * problem.r * problem.s;
    const int64_t filter =
        matrix % problem.groups * (problem.k / problem.groups) + first;
    kernel.pack(
        panel, width, count, deep,
        advance(w, (filter * depth + k) * int64_t(elementBytes(problem.type))),
        problem.type, depth, 1);
  }
};

void contract(const artifact::Conv &problem, const MicroKernel &kernel,
              const void *x, const void *w, const char *packed, Output output,
              ThreadPool &pool) {
  const Matrices matrices(problem, kernel, pool.size());
  const auto &[pixels, filters, channels, depth, last, pixelRows, pitch,
               contraction] = matrices;
  const int64_t element = elementBytes(problem.type);
  const WeightPacker packFilters{problem, kernel, w};

  output.stride = last ? filters : filters * pixels;
  output.rowStride = last ? problem.k : pixelRows ? 1 : pixels;
  output.colStride = !last && pixelRows ? pixels : 1;
  output.biasPeriod = problem.groups;
  output.biasStride = filters;
  output.biasRow = pixelRows ? 0 : 1;
  output.biasCol = pixelRows ? 1 : 0;

  char *copy =
      static_cast<char *>(pool.sharedScratch()) + contraction.scratch().shared;
  int64_t *offsets = nullptr;
  // Reads pixels at `data` where they lie, if they have a pitch.
  auto run = [&](PackPanel packPixels, const void *data, int64_t readable,
                 FunctionRef<int64_t(int64_t)> origin) {
    const Contraction::Direct direct{static_cast<const char *>(data), offsets,
                                     origin, readable};
    if (pixelRows)
      contraction.run(packPixels, packFilters, output, pool,
                      {nullptr, packed, problem.groups});
    else
      contraction.run(packFilters, packPixels, output, pool,
                      {packed, nullptr, problem.groups}, nullptr,
                      pitch ? &direct : nullptr);
  };

  if (isPointwise(problem)) {
    auto origin = [&](int64_t matrix) { return matrix * channels * pixels; };
    offsets = reinterpret_cast<int64_t *>(copy);
    if (pitch)
      for (int64_t i = 0; i < depth; ++i)
        offsets[i] = i * pixels;
    return run(
        [&](void *panel, int64_t width, int64_t matrix, int64_t first,
            int64_t count, int64_t k, int64_t deep) {
          const int64_t at = last ? first * problem.c + matrix * channels + k
                                  : origin(matrix) + k * pixels + first;
          kernel.pack(panel, width, count, deep, advance(x, at * element),
                      problem.type, last ? problem.c : 1, last ? 1 : pixels);
        },
        x, pixels, origin);
  }

  PaddedInput padded(problem, kernel);
  padded.fill(x, copy, pool);
  offsets = reinterpret_cast<int64_t *>(copy + padded.bytes());
  if (pitch) {
    output.pitch = pitch;
    output.width = problem.q;
    const int64_t taps = problem.r * problem.s;
    for (int64_t i = 0; i < depth; ++i)
      offsets[i] = padded.origin(0, i / taps) + padded.tap(i % taps);
  }
  const PixelPacker packer{problem, kernel, padded, copy};
  return run(
      [&](void *panel, int64_t width, int64_t matrix, int64_t first,
          int64_t count, int64_t k, int64_t deep) {
        if (last)
          packer.fromPixels(panel, width, matrix, first, count, k, deep);
        else
          packer.fromPlanes(panel, width, matrix, first, count, k, deep);
      },
      copy, kAll,
      [&](int64_t matrix) {
        return padded.origin(matrix / problem.groups,
                             matrix % problem.groups * channels);
      });
}
/// Returns the accumulator type; none if the type or a gradient is not
/// supported.
std::optional<Accumulator> accumulatorFor(const artifact::Conv &problem) {
  if (problem.pass != artifact::ConvPass::forward)
    return std::nullopt;
  if (problem.type == DType::f64)
    return Accumulator::f64;
  if (problem.compute != artifact::Compute::f64 &&
      (problem.type == DType::f32 || problem.type == DType::f16 ||
       problem.type == DType::bf16))
    return Accumulator::f32;
  return std::nullopt;
}

bool isEmpty(const artifact::Conv &problem) {
  return problem.n <= 0 || problem.k <= 0 || problem.p <= 0 || problem.q <= 0;
}

bool isDepthwise(const artifact::Conv &problem) {
  return problem.groups == problem.c && problem.c > 1 &&
         (!problem.channelsLast ||
          (problem.k == problem.c && problem.type != DType::f64));
}
} // namespace

std::optional<ScratchSize> frit::cpu::scratchOf(const artifact::Conv &problem,
                                                Isa isa, unsigned threads) {
  if (problem.quantized)
    return quantizedScratch(problem, isa, threads);
  const std::optional<Accumulator> accumulator = accumulatorFor(problem);
  if (!accumulator)
    return std::nullopt;
  if (isEmpty(problem))
    return ScratchSize();
  const MicroKernel &kernel = microKernel(isa, *accumulator);
  return isDepthwise(problem)   ? depthwiseScratch(problem, kernel, threads)
         : takesPixels(problem) ? pixelScratch(problem, kernel, threads)
                                : contractScratch(problem, kernel, threads);
}

bool frit::cpu::conv(const artifact::Conv &problem, void *const *arguments,
                     ThreadPool &pool) {
  return convPacked(problem, arguments, nullptr, pool);
}

bool frit::cpu::convPacked(const artifact::Conv &problem,
                           void *const *arguments, const void *packed,
                           ThreadPool &pool) {
  const std::optional<ScratchSize> scratch =
      scratchOf(problem, pool.isa(), pool.size());
  if (!scratch || !pool.holds(*scratch))
    return false;
  if (problem.quantized) {
    quantizedConv(problem, arguments, pool, packed);
    return true;
  }
  const MicroKernel &kernel = microKernel(pool.isa(), *accumulatorFor(problem));
  const void *x = arguments[0], *w = arguments[1];
  arguments += 2;
  Output output;
  output.type = problem.type;
  output.bias = problem.hasBias ? *arguments++ : nullptr;
  output.residual = problem.hasResidual ? *arguments++ : nullptr;
  output.data = *arguments;
  output.rowStride = problem.k;
  output.activation = problem.activation;
  if (isEmpty(problem))
    return true;
  if (isDepthwise(problem))
    depthwise(problem, kernel, x, w, packed, output, pool);
  else if (takesPixels(problem))
    convolvePixels(problem, kernel, x, w, packed, output, pool);
  else
    contract(problem, kernel, x, w, static_cast<const char *>(packed), output,
             pool);
  return true;
}

PackedForm frit::cpu::packedForm(const artifact::Conv &problem,
                                 const void *zeroW, Isa isa) {
  if (problem.quantized)
    return quantized::packedForm(problem, zeroW, isa);
  const std::optional<Accumulator> accumulator = accumulatorFor(problem);
  if (!accumulator || isEmpty(problem))
    return {};
  const MicroKernel &kernel = microKernel(isa, *accumulator);
  if (isDepthwise(problem))
    return depthwiseForm(problem, kernel);
  if (takesPixels(problem))
    return pixelForm(problem, kernel);
  artifact::Conv one = problem;
  one.n = 1;
  const Matrices matrices(one, kernel, 1);
  return {matrices.contraction.packedBytes(matrices.pixelRows),
          matrices.pixelRows};
}

bool frit::cpu::packFilters(const artifact::Conv &problem, const void *filters,
                            const void *zeroW, Isa isa, void *to) {
  if (problem.quantized)
    return quantized::packFilters(problem, filters, zeroW, isa, to);
  const MicroKernel &kernel = microKernel(isa, *accumulatorFor(problem));
  if (isDepthwise(problem)) {
    packDepthwiseFilters(problem, kernel, filters, to);
    return true;
  }
  if (takesPixels(problem)) {
    packPixelFilters(problem, kernel, filters, to);
    return true;
  }
  artifact::Conv one = problem;
  one.n = 1;
  const Matrices matrices(one, kernel, 1);
  matrices.contraction.packAll(matrices.pixelRows,
                               WeightPacker{one, kernel, filters},
                               static_cast<char *>(to));
  return true;
}
