//===- PaddedInput.cpp - An image with its padding written out ------------===//

#include "runtime/cpu/kernels/Conv.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

PaddedInput::PaddedInput(const artifact::Conv &problem,
                         const MicroKernel &kernel)
    : problem(problem), kernel(kernel) {
  const int64_t lastTap = (problem.s - 1) * problem.dilationW;
  if (problem.channelsLast) {
    rows = (problem.p - 1) * problem.strideH +
           (problem.r - 1) * problem.dilationH + 1;
    rowElements = ((problem.q - 1) * problem.strideW + lastTap + 1) * problem.c;
    imageElements = rows * rowElements;
    channelElements = 1;
    nextColumn = problem.strideW * problem.c;
    nextOutputRow = problem.strideH * rowElements;
  } else {
    rows = problem.p + (problem.r - 1) * problem.dilationH / problem.strideH;
    rowElements = problem.q + lastTap / problem.strideW;
    channelElements = problem.strideH * problem.strideW * rows * rowElements;
    imageElements = problem.c * channelElements;
    nextColumn = 1;
    nextOutputRow = rowElements;
  }
}

/// Returns the bytes of all padded images, rounded up to the alignment of
/// `taps`.
uint64_t PaddedInput::imageBytes() const {
  const int64_t slack = std::max(kernel.rows, kernel.cols);
  const uint64_t bytes =
      (problem.n * imageElements + slack) * kernel.elementBytes;
  return (bytes + 63) / 64 * 64;
}

uint64_t PaddedInput::bytes() const {
  const double planes = double(problem.n) *
                        (problem.channelsLast ? 1. : double(problem.c)) *
                        (problem.channelsLast ? 1. : double(problem.strideH)) *
                        (problem.channelsLast ? 1. : double(problem.strideW));
  if (planes * double(rows) * double(rowElements) > 1e13 ||
      double(problem.r) * double(problem.s) > 1e12)
    return 0;
  return imageBytes() + problem.r * problem.s * sizeof(int64_t);
}

int64_t PaddedInput::tapInPlane(int64_t index) const {
  const int64_t row = index / problem.s * problem.dilationH;
  const int64_t col = index % problem.s * problem.dilationW;
  const int64_t phase =
      row % problem.strideH * problem.strideW + col % problem.strideW;
  return (phase * rows + row / problem.strideH) * rowElements +
         col / problem.strideW;
}

/// Returns whether some tap reads a phase.
static bool isUsed(int64_t phase, int64_t taps, int64_t dilation,
                   int64_t stride) {
  for (int64_t tap = 0; tap < std::min(taps, stride); ++tap)
    if (tap * dilation % stride == phase)
      return true;
  return false;
}

namespace {
/// Element i of a phase is element i · stride + shift of the image. Those in
/// [first, last) are inside it.
struct Inside {
  int64_t shift, first, last;

  Inside(int64_t phase, int64_t padding, int64_t stride, int64_t image,
         int64_t elements)
      : shift(phase - padding),
        first(std::clamp<int64_t>((stride - 1 - shift) / stride, 0, elements)),
        last(std::clamp<int64_t>((image - shift + stride - 1) / stride, first,
                                 elements)) {}
};
} // namespace

void PaddedInput::fillPlane(const void *from, char *to) const {
  const auto &c = problem;
  for (int64_t y = 0; y < c.strideH; ++y) {
    if (!isUsed(y, c.r, c.dilationH, c.strideH))
      continue;
    const Inside lines(y, c.padTop, c.strideH, c.h, rows);
    for (int64_t x = 0; x < c.strideW; ++x) {
      const Inside cols(x, c.padLeft, c.strideW, c.w, rowElements);
      if (lines.first == lines.last || cols.first == cols.last ||
          !isUsed(x, c.s, c.dilationW, c.strideW))
        continue;
      const int64_t source = (lines.first * c.strideH + lines.shift) * c.w +
                             cols.first * c.strideW + cols.shift;
      const int64_t place =
          ((y * c.strideW + x) * rows + lines.first) * rowElements + cols.first;
      kernel.widen(to + place * kernel.elementBytes,
                   advance(from, source * int64_t(elementBytes(c.type))),
                   c.type, cols.last - cols.first, c.strideW,
                   lines.last - lines.first, rowElements, c.strideH * c.w);
    }
  }
}

/// Fills one row of all channels; `from` is the image.
void PaddedInput::fillPixelRow(const char *from, int64_t row, char *to) const {
  const int64_t bytes = kernel.elementBytes * problem.c;
  const int64_t source = row - problem.padTop, cols = rowElements / problem.c;
  if (source < 0 || source >= problem.h) {
    std::memset(to, 0, cols * bytes);
    return;
  }
  const int64_t first = std::clamp<int64_t>(problem.padLeft, 0, cols);
  const int64_t last =
      std::clamp<int64_t>(problem.w + problem.padLeft, first, cols);
  std::memset(to, 0, first * bytes);
  const int64_t at = source * problem.w + first - problem.padLeft;
  kernel.widen(to + first * bytes,
               from + at * problem.c * int64_t(elementBytes(problem.type)),
               problem.type, (last - first) * problem.c, 1, 1, 0, 0);
  std::memset(to + last * bytes, 0, (cols - last) * bytes);
}

void PaddedInput::fill(const void *x, void *to, ThreadPool &pool) {
  taps = reinterpret_cast<int64_t *>(static_cast<char *>(to) + imageBytes());
  const int64_t element = elementBytes(problem.type);
  auto *out = static_cast<char *>(to);
  if (!problem.channelsLast) {
    for (int64_t t = 0; t < problem.r * problem.s; ++t)
      taps[t] = tapInPlane(t);
    const int64_t bytes = channelElements * kernel.elementBytes;
    return pool.parallelFor(
        problem.n * problem.c, [&](int64_t at, int64_t end) {
          for (; at < end; ++at) {
            if (isPadded())
              std::memset(out + at * bytes, 0, bytes);
            fillPlane(advance(x, at * problem.h * problem.w * element),
                      out + at * bytes);
          }
        });
  }
  for (int64_t t = 0; t < problem.r * problem.s; ++t)
    taps[t] = t / problem.s * problem.dilationH * rowElements +
              t % problem.s * problem.dilationW * problem.c;
  const int64_t image = problem.h * problem.w * problem.c * element;
  pool.parallelFor(problem.n * rows, [&](int64_t at, int64_t end) {
    for (; at < end; ++at)
      if (isUsed(at % rows % problem.strideH, problem.r, problem.dilationH,
                 problem.strideH))
        fillPixelRow(static_cast<const char *>(x) + at / rows * image,
                     at % rows, out + at * rowElements * kernel.elementBytes);
  });
}
