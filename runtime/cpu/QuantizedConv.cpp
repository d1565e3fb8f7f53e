//===- QuantizedConv.cpp - Convolutions and products of quantized tensors -===//
//
// y(pixel, filter) = Σ (x(pixel, tap) - xZero)·(w(filter, tap) - wZero), as a
// product of integers with exact sums. A tap's channels, or with one group all
// of a filter row's, form a segment, which is contiguous in x and w. Panels
// hold groups of 4 bytes along it, so a segment is rounded up to whole groups.
//
//   quads: 4 numbers of 8 bits, where the processor has VNNI and w - wZero fits
//          8 bits. x - xZero does not: its zero point is subtracted later, as
//          xZero · Σ w for each filter.
//   pairs: 2 numbers of 16 bits, from copies of x and w less their zero points
//
// Products with few rows read w once, without packing it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Conv.h"
#include "runtime/cpu/Gemm.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

// Units that are compiled together have other functions of these names.
namespace frit::cpu::quantized {
namespace {
/// Maximum width of a panel over all micro-kernels.
constexpr int64_t kWidest = 64;
/// Maximum rows for which w is not packed: packing would cost more than it
/// saves.
constexpr int64_t kFewRows = 8;
/// Filters of a work item if w is not packed.
constexpr int64_t kStreamCols = 64;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint64_t align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

const IntegerKernel &integerKernel(Isa isa) {
  switch (isa) {
  case Isa::avx512vnni:
    return avx512vnni::integerKernel();
  case Isa::avx512:
    return avx512::integerKernel();
  case Isa::avx2:
    return avx2::integerKernel();
  case Isa::sse2:
    break;
  }
  return sse2::integerKernel();
}

/// Returns a zero point or another byte.
int32_t byteOf(const void *from, DType type) {
  return type == DType::i8 ? int32_t(*static_cast<const int8_t *>(from))
                           : int32_t(*static_cast<const uint8_t *>(from));
}

/// The sizes of a convolution, and how its operands are read.
struct Shape {
  const artifact::Conv &problem;
  int64_t channels, filters; ///< per group
  int64_t pixels;            ///< of all images
  int64_t taps;              ///< elements of a filter
  bool rowWise;              ///< whether a segment is a filter row
  int64_t segment, segments; ///< elements, and how many
  int64_t rows, rowElements; ///< of an image with its padding
  bool isPadded, isDepthwise;

  explicit Shape(const artifact::Conv &c)
      : problem(c), channels(c.c / c.groups), filters(c.k / c.groups),
        pixels(c.n * c.p * c.q), taps(c.r * c.s * channels),
        rowWise(c.groups == 1 && c.dilationW == 1),
        segment(channels * (rowWise ? c.s : 1)),
        segments(c.r * (rowWise ? 1 : c.s)),
        rows((c.p - 1) * c.strideH + (c.r - 1) * c.dilationH + 1),
        rowElements(((c.q - 1) * c.strideW + (c.s - 1) * c.dilationW + 1) *
                    c.c),
        isPadded(c.padTop || c.padLeft || c.padBottom || c.padRight),
        isDepthwise(c.groups == c.c && c.k == c.c && c.c > 1) {
    if (!isPadded) {
      rows = c.h;
      rowElements = c.w * c.c;
    }
  }

  /// Groups of 4 bytes that hold a segment of elements of `bytes` bytes.
  int64_t segmentDepth(int64_t bytes) const {
    return ceilDiv(segment * bytes, 4);
  }
  /// Offset of a segment from a pixel's first element.
  int64_t tap(int64_t index) const {
    const int64_t row = rowWise ? index : index / problem.s;
    const int64_t col = rowWise ? 0 : index % problem.s;
    return row * problem.dilationH * rowElements +
           col * problem.dilationW * problem.c;
  }
  /// Offset of a pixel's first element.
  int64_t origin(int64_t pixel) const {
    const int64_t image = problem.p * problem.q, inside = pixel % image;
    return (pixel / image * rows + inside / problem.q * problem.strideH) *
               rowElements +
           inside % problem.q * problem.strideW * problem.c;
  }
  bool isMatrix() const { return segments == 1 && problem.groups == 1; }
  bool isStreamed() const { return isMatrix() && pixels <= kFewRows; }
  /// Whether x is read where it lies: there is no padding, and the last group
  /// of a segment does not reach past it.
  bool readsInput() const { return !isPadded && segment % 4 == 0; }

  /// Bytes of a copy of x with elements of `bytes` bytes, and what may be read
  /// past it.
  uint64_t copyBytes(int64_t bytes) const {
    return align(uint64_t(problem.n * rows * rowElements * bytes) + 64);
  }
  bool overflows() const {
    return double(problem.n) * double(rows) * double(rowElements) > 1e13 ||
           double(problem.k) * double(taps) > 1e13;
  }
  Contraction contraction(const MicroKernel &kernel, int64_t bytes,
                          unsigned threads) const {
    return Contraction(kernel, pixels, filters,
                       segments * segmentDepth(bytes), problem.groups, threads);
  }
};

/// One call. Its scratch memory begins with the contraction's.
class Call {
public:
  Call(const Shape &shape, const IntegerKernel &kernel, void *const *arguments,
       ThreadPool &pool);
  void run();

private:
  void contract(const MicroKernel &tiles, bool isQuads);
  void stream();
  void depthwise();
  void copyInput(char *to, bool centred);
  void subtractZero(int64_t zero);
  void storeRows(const int32_t *sums, int64_t row, int64_t col, int64_t rows,
                 int64_t cols, int32_t *tile) const;

  const Shape &shape;
  const artifact::Conv &problem;
  const IntegerKernel &kernel;
  ThreadPool &pool;
  const uint8_t *x, *w;
  int32_t zeroX, zeroW;
  const int32_t *givenOffset = nullptr;
  QuantizedOutput form;
  Output output;
};

Call::Call(const Shape &shape, const IntegerKernel &kernel,
           void *const *arguments, ThreadPool &pool)
    : shape(shape), problem(shape.problem), kernel(kernel), pool(pool),
      x(static_cast<const uint8_t *>(arguments[0])),
      w(static_cast<const uint8_t *>(arguments[1])),
      zeroX(byteOf(arguments[2], problem.type)),
      zeroW(byteOf(arguments[3], problem.typeW)) {
  arguments += 4;
  if (problem.hasOffset)
    givenOffset = static_cast<const int32_t *>(*arguments++);
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

/// Sets the offset of each filter to the given one - zero · (sum of the
/// filter), with bytes of w as quads have them.
void Call::subtractZero(int64_t zero) {
  auto *offset = static_cast<int32_t *>(pool.sharedScratch());
  const bool flips = problem.typeW == DType::u8;
  pool.parallelFor(problem.k, [&](int64_t at, int64_t end) {
    for (; at < end; ++at) {
      const uint8_t *filter = w + at * shape.taps;
      int64_t sum = 0;
      if (zero && flips)
        for (int64_t i = 0; i < shape.taps; ++i)
          sum += int32_t(filter[i]) - 128;
      else if (zero)
        for (int64_t i = 0; i < shape.taps; ++i)
          sum += int8_t(filter[i]);
      offset[at] =
          int32_t((givenOffset ? givenOffset[at] : 0) - zero * sum);
    }
  });
  form.offset = offset;
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
      const uint8_t *from = x + (image * problem.h + row) * problem.w * channels;
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
  char *offsets = next;
  next += align(problem.k * 4);
  char *panels = next;
  next += align(product.scratch().shared);
  const char *filters = reinterpret_cast<const char *>(w);
  if (isQuads) {
    subtractZero(zeroX + (problem.type == DType::i8 ? 128 : 0));
  } else {
    auto *sums = reinterpret_cast<int32_t *>(offsets);
    for (int64_t i = 0; i < problem.k; ++i)
      sums[i] = givenOffset ? givenOffset[i] : 0;
    form.offset = sums;
    auto *wide = reinterpret_cast<int16_t *>(next);
    pool.parallelFor(problem.k, [&](int64_t at, int64_t end) {
      kernel.centre(wide + at * shape.taps, w + at * shape.taps,
                    problem.typeW == DType::i8, zeroW,
                    (end - at) * shape.taps);
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
    for (int64_t done = 0; done < depth;) {
      const int64_t tap = (k + done) / deep, inside = (k + done) % deep;
      const int64_t size = std::min(deep - inside, depth - done);
      const void *rows[kWidest];
      for (int64_t i = 0; i < count; ++i)
        rows[i] = pixels + (origins[i] + shape.tap(tap)) * element + inside * 4;
      kernel.packRows(static_cast<char *>(panel) + done * width * 4, width,
                      count, size, rows);
      done += size;
    }
    if (flipsX)
      kernel.flip(panel, width * depth * 4);
  };

  const bool flipsW = isQuads && problem.typeW == DType::u8;
  const bool whole = shape.segment * element % 4 == 0;
  auto packFilters = [&](void *panel, int64_t width, int64_t matrix,
                         int64_t first, int64_t count, int64_t k,
                         int64_t depth) {
    const char *from =
        filters + (matrix * shape.filters + first) * shape.taps * element;
    if (whole) { // segments follow each other
      const void *rows[kWidest];
      for (int64_t i = 0; i < count; ++i)
        rows[i] = from + i * shape.taps * element + k * 4;
      kernel.packRows(panel, width, count, depth, rows);
      if (flipsW)
        kernel.flip(panel, width * depth * 4);
      return;
    }
    const int64_t bytes = shape.segment * element;
    char *to = static_cast<char *>(panel);
    std::memset(to, 0, width * depth * 4);
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t tap = (k + i) / deep, inside = (k + i) % deep * 4;
      const int64_t size = std::min<int64_t>(4, bytes - inside);
      for (int64_t j = 0; j < count; ++j) {
        char *group = to + (i * width + j) * 4;
        std::memcpy(group, from + j * shape.taps * element + tap * bytes + inside,
                    size);
        if (flipsW)
          kernel.flip(group, size);
      }
    }
  };

  product.run(packPixels, packFilters, output, pool, panels);
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

/// Computes a product with few rows, whose cost is reading w once.
void Call::stream() {
  const int64_t depth = shape.segment, rows = shape.pixels;
  const int64_t lda = align(depth);
  const int64_t zero = zeroX + (problem.type == DType::i8 ? 128 : 0);
  // Rows of x, zero from `depth` on, and one of ones, which sums filters.
  auto *copies = static_cast<uint8_t *>(pool.sharedScratch());
  auto *offset = reinterpret_cast<int32_t *>(copies + (rows + 1) * lda);
  std::memset(copies, 0, (rows + 1) * lda);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(copies + i * lda, x + shape.origin(i), depth);
    if (problem.type == DType::i8)
      kernel.flip(copies + i * lda, depth);
  }
  std::memset(copies + rows * lda, 1, depth);
  form.offset = offset;
  const int64_t items = ceilDiv(problem.k, kStreamCols);
  pool.parallelItems(items, [&](int64_t item, unsigned thread) {
    const int64_t first = item * kStreamCols;
    const int64_t count = std::min(kStreamCols, problem.k - first);
    auto *sums = static_cast<int32_t *>(pool.scratch(thread));
    int32_t *tile = sums + (kFewRows + 1) * kStreamCols;
    const auto *filters =
        reinterpret_cast<const int8_t *>(w + first * shape.taps);
    for (int64_t i = 0; i < rows + (zero ? 1 : 0); i += 4)
      kernel.dots(std::min<int64_t>(4, rows + (zero ? 1 : 0) - i), count, depth,
                  copies + i * lda, lda, filters, sums + i * count);
    for (int64_t j = 0; j < count; ++j)
      offset[first + j] =
          int32_t((givenOffset ? givenOffset[first + j] : 0) -
                  (zero ? zero * sums[rows * count + j] : 0));
    storeRows(sums, 0, first, rows, count, tile);
  });
}

void Call::depthwise() {
  const int64_t taps = problem.r * problem.s, channels = problem.c;
  char *next = static_cast<char *>(pool.sharedScratch());
  auto *offset = reinterpret_cast<int32_t *>(next);
  next += align(channels * 4);
  auto *weights = reinterpret_cast<int32_t *>(next);
  next += align(channels * taps * 4);
  const bool isSigned = problem.typeW == DType::i8;
  for (int64_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t byte = w[c * taps + t];
      const int32_t weight =
          (isSigned ? int32_t(int8_t(byte)) : int32_t(byte)) - zeroW;
      weights[t * channels + c] = uint16_t(weight);
      sum += weight;
    }
    offset[c] = int32_t((givenOffset ? givenOffset[c] : 0) - zeroX * sum);
  }
  form.offset = offset;
  const uint8_t *from = x;
  if (shape.isPadded) {
    copyInput(next, /*centred=*/false);
    from = reinterpret_cast<const uint8_t *>(next);
  }
  output.stride = 0;
  output.biasPeriod = 1;
  pool.parallelItems(problem.n * problem.p, [&](int64_t row, unsigned thread) {
    auto **lines = static_cast<const void **>(pool.scratch(thread));
    auto *sums = reinterpret_cast<int32_t *>(lines + taps);
    int32_t *tile = sums + channels;
    for (int64_t q = 0; q < problem.q; ++q) {
      const int64_t origin = shape.origin(row * problem.q + q);
      for (int64_t t = 0; t < taps; ++t)
        lines[t] = from + origin + shape.tap(t);
      kernel.taps(sums, channels, taps, lines, problem.type == DType::i8,
                  weights);
      storeRows(sums, row * problem.q + q, 0, 1, channels, tile);
    }
  });
}

void Call::run() {
  if (shape.isDepthwise)
    return depthwise();
  const bool isQuads =
      kernel.hasQuads && zeroW == (problem.typeW == DType::u8 ? 128 : 0);
  if (isQuads && shape.isStreamed() && problem.typeW == DType::i8)
    return stream();
  contract(isQuads ? kernel.quads : kernel.pairs, isQuads);
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
  if (shape.isDepthwise) {
    const uint64_t taps = problem.r * problem.s;
    return ScratchSize{
        offsets + quantized::align(problem.c * taps * 4) + shape.copyBytes(1),
        taps * 8 + (problem.c + kernel.pairs.cols) * 4};
  }
  // Zero points, which a call reads, choose the kernel.
  ScratchSize size = shape.contraction(kernel.pairs, 2, threads).scratch();
  size.shared = quantized::align(size.shared) + offsets +
                quantized::align(problem.k * shape.taps * 2) + shape.copyBytes(2);
  if (!kernel.hasQuads)
    return size;
  ScratchSize quads = shape.contraction(kernel.quads, 1, threads).scratch();
  quads.shared = quantized::align(quads.shared) + offsets + shape.copyBytes(1);
  size.include(quads);
  if (shape.isStreamed())
    size.include({(quantized::kFewRows + 1) * quantized::align(shape.segment) + offsets,
                  uint64_t((quantized::kFewRows + 1) * quantized::kStreamCols + kernel.pairs.cols) *
                      4});
  return size;
}

void frit::cpu::quantizedConv(const artifact::Conv &problem,
                              void *const *arguments, ThreadPool &pool) {
  if (quantized::isEmpty(problem))
    return;
  const quantized::Shape shape(problem);
  quantized::Call(shape, quantized::integerKernel(pool.isa()), arguments, pool).run();
}
