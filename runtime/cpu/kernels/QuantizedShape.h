//===- QuantizedShape.h - How a quantized convolution is read -------------===//
//
// Internal to runtime/cpu/kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_KERNELS_QUANTIZEDSHAPE_H
#define FRIT_RUNTIME_CPU_KERNELS_QUANTIZEDSHAPE_H

#include "runtime/cpu/kernels/Conv.h"
#include "runtime/cpu/kernels/Gemm.h"

namespace frit::cpu::quantized {

/// Maximum rows for which filters are not packed: packing would cost more than
/// it saves.
inline constexpr int64_t kFewRows = 8;
/// Maximum width of a panel over all micro-kernels.
inline constexpr int64_t kWidest = 64;

inline uint64_t align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

const IntegerKernel &integerKernel(Isa isa);

/// Returns a zero point or another byte.
inline int32_t byteOf(const void *from, artifact::DType type) {
  return type == artifact::DType::i8
             ? int32_t(*static_cast<const int8_t *>(from))
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
    return Contraction(kernel, pixels, filters, segments * segmentDepth(bytes),
                       problem.groups, threads);
  }
};

/// How the filters of a call are multiplied; see QuantizedConv.cpp.
enum class Form { pairs, quads, streamed, depthwise };

/// Returns the form of a convolution whose filters have this zero point.
Form formOf(const Shape &shape, const IntegerKernel &kernel, int32_t zeroW);

/// Returns the loops that multiply the quads of a convolution.
inline const MicroKernel &quadsOf(const Shape &shape,
                                  const IntegerKernel &kernel) {
  return kernel.matrices && shape.pixels > kFewRows ? *kernel.matrices
                                                    : kernel.quads;
}

/// Returns the sum of a filter, with its bytes as quads have them.
int32_t sumFilter(const Shape &shape, const uint8_t *filter);

/// Writes 16-bit weights, each in the low half of 32 bits, to weights[tap ·
/// channels + channel], and the sum of each channel's.
void widenDepthwise(const Shape &shape, const uint8_t *w, int32_t zeroW,
                    int32_t *weights, int32_t *sums);

/// Packs panels of filters, with zeros past the last segment. `filters` are
/// bytes, or 16-bit numbers less the zero point.
class FilterPacker {
public:
  FilterPacker(const Shape &shape, const IntegerKernel &kernel, bool isQuads,
               const void *filters)
      : shape(shape), kernel(kernel), element(isQuads ? 1 : 2),
        deep(shape.segmentDepth(element)),
        flips(isQuads && shape.problem.typeW == artifact::DType::u8),
        filters(static_cast<const char *>(filters)) {}

  void operator()(void *panel, int64_t width, int64_t matrix, int64_t first,
                  int64_t count, int64_t k, int64_t depth) const;

private:
  const Shape &shape;
  const IntegerKernel &kernel;
  int64_t element, deep; ///< bytes of a number; groups of a segment
  bool flips;
  const char *filters;
};

} // namespace frit::cpu::quantized

#endif // FRIT_RUNTIME_CPU_KERNELS_QUANTIZEDSHAPE_H
