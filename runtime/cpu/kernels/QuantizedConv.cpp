//===- QuantizedConv.cpp - Convolutions and products of quantized tensors -===//
//
// y(pixel, filter) = Σ (x(pixel, tap) - xZero)·(w(filter, tap) - wZero), as a
// product of integers with exact sums. A tap's channels, or with one group all
// of a filter row's, form a segment, which is contiguous in x and w. Panels
// hold groups of 4 bytes along it, so a segment is rounded up to whole groups.
//
//   quads: 4 numbers of 8 bits, where the processor has VNNI and w - wZero fits
//          8 bits. x - xZero does not: its zero point is subtracted later, as
//          xZero · Σ w for each filter. By AMX if there are many rows.
//   pairs: 2 numbers of 16 bits, from copies of x and w less their zero points
//
// Products with few rows read w once; unless it was packed when the model was
// opened, they do not pack it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/kernels/QuantizedShape.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

// Units that are compiled together have other functions of these names.
namespace frit::cpu::quantized {
namespace {
/// Filters of a work item if filters are not packed.
constexpr int64_t kStreamCols = 64;

/// Packs groups [first, first + depth) of rows for tiles with a depthStep.
void packSteps(char *panel, const MicroKernel &tiles, int64_t first,
               int64_t count, int64_t depth, const void *const *rows) {
  const int64_t step = tiles.depthStep;
  for (int64_t done = 0; done < depth;) {
    const int64_t at = first + done, inside = at % step;
    const int64_t size = std::min(step - inside, depth - done);
    char *to = panel + ((at - inside) * tiles.rows + inside) * 4;
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * step * 4,
                  static_cast<const char *>(rows[i]) + done * 4, size * 4);
    done += size;
  }
}

/// One call. Its scratch memory begins with the contraction's.
class Call {
public:
  Call(const Shape &shape, const IntegerKernel &kernel, void *const *arguments,
       ThreadPool &pool, const void *packed);
  void run();

private:
  void contract(const MicroKernel &tiles, bool isQuads);
  void stream();
  void depthwise();
  void copyInput(char *to, bool centred);
  void subtractZero(int64_t zero);
  const char *packedRest() const {
    return sums ? reinterpret_cast<const char *>(sums) + align(problem.k * 4)
                : nullptr;
  }
  void storeRows(const int32_t *sums, int64_t row, int64_t col, int64_t rows,
                 int64_t cols, int32_t *tile) const;

  const Shape &shape;
  const artifact::Conv &problem;
  const IntegerKernel &kernel;
  ThreadPool &pool;
  /// What packFilters wrote: the sums of filters, then the rest. Null if they
  /// are not packed.
  const int32_t *sums;
  const uint8_t *x, *w;
  int32_t zeroX, zeroW;
  QuantizedOutput form;
  Output output;
};

Call::Call(const Shape &shape, const IntegerKernel &kernel,
           void *const *arguments, ThreadPool &pool, const void *packed)
    : shape(shape), problem(shape.problem), kernel(kernel), pool(pool),
      sums(static_cast<const int32_t *>(packed)),
      x(static_cast<const uint8_t *>(arguments[0])),
      w(static_cast<const uint8_t *>(arguments[1])),
      zeroX(byteOf(arguments[2], problem.type)),
      zeroW(byteOf(arguments[3], problem.typeW)) {
  arguments += 4;
  if (problem.hasOffset)
    form.offset = static_cast<const int32_t *>(*arguments++);
  if (problem.scales)
    form.scale = static_cast<const float *>(*arguments++);
  if (problem.hasBias)
    form.bias = static_cast<const float *>(*arguments++);
  if (problem.hasZeroY)
    form.zero = byteOf(*arguments++, problem.typeY);
  form.scalePerFilter = problem.scales > 1;
  form.relu = problem.activation == Activation::relu;
  output.type = problem.typeY;
  output.data = *arguments;
  output.quantized = &form;
  output.rowStride = problem.k;
  output.stride = shape.filters;
  output.biasPeriod = problem.groups;
  output.biasStride = shape.filters;
}

/// Subtracts zero · (sum of the filter) from each sum.
void Call::subtractZero(int64_t zero) {
  form.zeroX = int32_t(zero);
  form.sums = sums;
  if (!zero || sums)
    return;
  auto *own = static_cast<int32_t *>(pool.sharedScratch());
  pool.parallelFor(problem.k, [&](int64_t at, int64_t end) {
    for (; at < end; ++at)
      own[at] = sumFilter(shape, w + at * shape.taps);
  });
  form.sums = own;
}

/// Copies x with its padding written out: bytes, or 16-bit numbers less the
/// zero point.
void Call::copyInput(char *to, bool centred) {
  const int64_t element = centred ? 2 : 1;
  const int64_t channels = problem.c;
  const bool isSigned = problem.type == DType::i8;
  const int64_t rowBytes = shape.rowElements * element;
  const int64_t left = std::min(problem.padLeft * channels, shape.rowElements);
  const int64_t inside =
      std::clamp<int64_t>(problem.w * channels, 0, shape.rowElements - left);
  auto pad = [&](char *from, char *end) {
    std::memset(from, centred ? 0 : zeroX, end - from);
  };
  pool.parallelFor(problem.n * shape.rows, [&](int64_t at, int64_t last) {
    for (; at < last; ++at) {
      const int64_t image = at / shape.rows;
      const int64_t row = at % shape.rows - problem.padTop;
      char *line = to + at * rowBytes, *end = line + rowBytes;
      if (row < 0 || row >= problem.h) {
        pad(line, end);
        continue;
      }
      const uint8_t *from =
          x + (image * problem.h + row) * problem.w * channels;
      pad(line, line + left * element);
      char *filled = line + left * element;
      if (centred)
        kernel.centre(reinterpret_cast<int16_t *>(filled), from, isSigned,
                      zeroX, inside);
      else
        std::memcpy(filled, from, inside);
      pad(filled + inside * element, end);
    }
  });
}

/// Computes a product of panels.
void Call::contract(const MicroKernel &tiles, bool isQuads) {
  const int64_t element = isQuads ? 1 : 2;
  const int64_t deep = shape.segmentDepth(element);
  const Contraction product = shape.contraction(tiles, element, pool.size());
  char *next = static_cast<char *>(pool.sharedScratch());
  next += align(problem.k * 4);
  char *panels = next;
  next += align(product.scratch().shared);
  const char *filters = reinterpret_cast<const char *>(w);
  if (isQuads) {
    subtractZero(zeroX + (problem.type == DType::i8 ? 128 : 0));
  } else if (!sums) {
    auto *wide = reinterpret_cast<int16_t *>(next);
    pool.parallelFor(problem.k, [&](int64_t at, int64_t end) {
      kernel.centre(wide + at * shape.taps, w + at * shape.taps,
                    problem.typeW == DType::i8, zeroW, (end - at) * shape.taps);
    });
    filters = next;
    next += align(problem.k * shape.taps * 2);
  }
  const char *pixels = reinterpret_cast<const char *>(x);
  if (!isQuads || !shape.readsInput()) {
    copyInput(next, !isQuads);
    pixels = next;
  }

  const bool flipsX = isQuads && problem.type == DType::i8;
  auto packPixels = [&](void *panel, int64_t width, int64_t matrix,
                        int64_t first, int64_t count, int64_t k,
                        int64_t depth) {
    int64_t origins[kWidest];
    for (int64_t i = 0; i < count; ++i)
      origins[i] = shape.origin(first + i) + matrix * shape.channels;
    // A rounded depth has no pixels; filters are zero there.
    const int64_t end = std::min(depth, shape.segments * deep - k);
    for (int64_t done = 0; done < end;) {
      const int64_t tap = (k + done) / deep, inside = (k + done) % deep;
      const int64_t size = std::min(deep - inside, end - done);
      const void *rows[kWidest];
      for (int64_t i = 0; i < count; ++i)
        rows[i] = pixels + (origins[i] + shape.tap(tap)) * element + inside * 4;
      if (tiles.depthStep == 1)
        kernel.packRows(static_cast<char *>(panel) + done * width * 4, width,
                        count, size, rows);
      else
        packSteps(static_cast<char *>(panel), tiles, done, count, size, rows);
      done += size;
    }
    if (flipsX)
      kernel.flip(panel, width * depth * 4);
  };

  product.run(packPixels, FilterPacker(shape, kernel, isQuads, filters), output,
              pool, {nullptr, packedRest(), problem.groups}, panels);
}

/// Stores rows of sums, `cols` apart, by way of a tile.
void Call::storeRows(const int32_t *sums, int64_t row, int64_t col,
                     int64_t rows, int64_t cols, int32_t *tile) const {
  const MicroKernel &tiles = kernel.pairs;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; j += tiles.cols) {
      const int64_t some = std::min(tiles.cols, cols - j);
      std::memcpy(tile, sums + i * cols + j, some * 4);
      tiles.store(output, 0, row + i, col + j, 1, some, tile);
    }
}

/// Computes a product with few rows and filters that are not packed. Its cost
/// is reading w once.
void Call::stream() {
  const int64_t depth = shape.segment, rows = shape.pixels;
  const int64_t lda = align(depth);
  const int64_t zero = zeroX + (problem.type == DType::i8 ? 128 : 0);
  // Rows of x, zero from `depth` on, and one of ones, which sums filters.
  auto *copies = static_cast<uint8_t *>(pool.sharedScratch());
  auto *own = reinterpret_cast<int32_t *>(copies + (rows + 1) * lda);
  std::memset(copies, 0, (rows + 1) * lda);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(copies + i * lda, x + shape.origin(i), depth);
    if (problem.type == DType::i8)
      kernel.flip(copies + i * lda, depth);
  }
  std::memset(copies + rows * lda, 1, depth);
  const int64_t all = rows + (zero ? 1 : 0);
  form.sums = zero ? own : nullptr;
  form.zeroX = int32_t(zero);
  const int64_t items = ceilDiv(problem.k, kStreamCols);
  pool.parallelItems(items, [&](int64_t item, unsigned thread) {
    const int64_t first = item * kStreamCols;
    const int64_t count = std::min(kStreamCols, problem.k - first);
    auto *dots = static_cast<int32_t *>(pool.scratch(thread));
    int32_t *tile = dots + (kFewRows + 1) * kStreamCols;
    const auto *filters =
        reinterpret_cast<const int8_t *>(w + first * shape.taps);
    for (int64_t i = 0; i < all; i += 4)
      kernel.dots(std::min<int64_t>(4, all - i), count, depth, copies + i * lda,
                  lda, filters, dots + i * count);
    if (zero)
      std::memcpy(own + first, dots + rows * count, count * 4);
    storeRows(dots, 0, first, rows, count, tile);
  });
}

void Call::depthwise() {
  const int64_t channels = problem.c;
  char *next = static_cast<char *>(pool.sharedScratch());
  auto *ownSums = reinterpret_cast<int32_t *>(next);
  next += align(channels * 4);
  auto *weights = reinterpret_cast<const int32_t *>(packedRest());
  if (!weights) {
    auto *own = reinterpret_cast<int32_t *>(next);
    widenDepthwise(shape, w, zeroW, own, ownSums);
    sums = ownSums;
    weights = own;
  }
  next += align(channels * shape.taps * 4);
  form.sums = sums;
  form.zeroX = zeroX;
  auto *taps = reinterpret_cast<int64_t *>(next);
  next += align(shape.taps * 8);
  for (int64_t t = 0; t < shape.taps; ++t)
    taps[t] = shape.tap(t);
  const uint8_t *from = x;
  if (shape.isPadded) {
    copyInput(next, /*centred=*/false);
    from = reinterpret_cast<const uint8_t *>(next);
  }
  pool.parallelFor(problem.n * problem.p, [&](int64_t row, int64_t end) {
    for (; row < end; ++row)
      kernel.taps(output, row * problem.q * channels, problem.q, channels,
                  shape.taps, from + shape.origin(row * problem.q), taps,
                  problem.strideW * channels, problem.type == DType::i8,
                  weights);
  });
}

void Call::run() {
  switch (formOf(shape, kernel, zeroW)) {
  case Form::depthwise:
    return depthwise();
  case Form::streamed:
    if (!sums)
      return stream();
    [[fallthrough]];
  case Form::quads:
    return contract(quadsOf(shape, kernel), true);
  case Form::pairs:
    return contract(kernel.pairs, false);
  }
}

bool isEmpty(const artifact::Conv &problem) {
  return problem.n <= 0 || problem.k <= 0 || problem.p <= 0 || problem.q <= 0;
}
} // namespace
} // namespace frit::cpu::quantized

std::optional<ScratchSize>
frit::cpu::quantizedScratch(const artifact::Conv &problem, Isa isa,
                            unsigned threads) {
  if (quantized::isEmpty(problem))
    return ScratchSize();
  const quantized::Shape shape(problem);
  if (shape.overflows())
    return std::nullopt;
  const IntegerKernel &kernel = quantized::integerKernel(isa);
  const uint64_t offsets = quantized::align(problem.k * 4);
  if (shape.isDepthwise)
    return ScratchSize{offsets + quantized::align(problem.c * shape.taps * 4) +
                           quantized::align(shape.taps * 8) +
                           shape.copyBytes(1),
                       0};
  // Zero points, which a call reads, choose the kernel.
  ScratchSize size = shape.contraction(kernel.pairs, 2, threads).scratch();
  size.shared = quantized::align(size.shared) + offsets +
                quantized::align(problem.k * shape.taps * 2) +
                shape.copyBytes(2);
  if (!kernel.hasQuads)
    return size;
  ScratchSize quads =
      shape.contraction(quantized::quadsOf(shape, kernel), 1, threads)
          .scratch();
  quads.shared = quantized::align(quads.shared) + offsets + shape.copyBytes(1);
  size.include(quads);
  if (shape.isStreamed())
    size.include(
        {(quantized::kFewRows + 1) * quantized::align(shape.segment) + offsets,
         uint64_t((quantized::kFewRows + 1) * quantized::kStreamCols +
                  kernel.pairs.cols) *
             4});
  return size;
}

void frit::cpu::quantizedConv(const artifact::Conv &problem,
                              void *const *arguments, ThreadPool &pool,
                              const void *packed) {
  if (quantized::isEmpty(problem))
    return;
  const quantized::Shape shape(problem);
  quantized::Call(shape, quantized::integerKernel(pool.isa()), arguments, pool,
                  packed)
      .run();
}
