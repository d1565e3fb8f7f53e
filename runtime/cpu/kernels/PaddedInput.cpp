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
  const int64_t step = problem.strideW;
  rows = (problem.p - 1) * problem.strideH +
         (problem.r - 1) * problem.dilationH + 1;
  if (problem.channelsLast) {
    phaseCols = 0;
    rowElements =
        ((problem.q - 1) * step + (problem.s - 1) * problem.dilationW + 1) *
        problem.c;
    imageElements = rows * rowElements;
    channelElements = 1;
    nextColumn = step * problem.c;
  } else {
    phaseCols = problem.q + (problem.s - 1) * problem.dilationW / step;
    rowElements = phaseCols * step;
    imageElements = problem.c * rows * rowElements;
    channelElements = rows * rowElements;
    nextColumn = 1;
  }
}

/// Returns the bytes of all padded images, rounded up to the alignment of
/// `taps`.
uint64_t PaddedInput::imageBytes() const {
  const int64_t planes = problem.n * (problem.channelsLast ? 1 : problem.c);
  const int64_t slack = std::max(kernel.rows, kernel.cols);
  const uint64_t bytes =
      (planes * rows * rowElements + slack) * kernel.elementBytes;
  return (bytes + 63) / 64 * 64;
}

uint64_t PaddedInput::bytes() const {
  const double planes =
      double(problem.n) * (problem.channelsLast ? 1 : problem.c);
  if (planes * double(rows) * double(rowElements) > 1e13 ||
      double(problem.r) * double(problem.s) > 1e12)
    return 0;
  return imageBytes() + problem.r * problem.s * sizeof(int64_t);
}

void PaddedInput::fillTaps() {
  const int64_t step = problem.strideW;
  int64_t *tap = taps;
  for (int64_t r = 0; r < problem.r; ++r)
    for (int64_t s = 0; s < problem.s; ++s) {
      const int64_t col = s * problem.dilationW;
      *tap++ = r * problem.dilationH * rowElements +
               (problem.channelsLast ? col * problem.c
                                     : col % step * phaseCols + col / step);
    }
}

/// Returns whether some tap reads a given row or phase of columns.
static bool isUsed(int64_t at, int64_t taps, int64_t dilation, int64_t stride) {
  if (dilation == 1 && taps >= stride)
    return true;
  for (int64_t tap = 0; tap < taps; ++tap)
    if ((at - tap * dilation) % stride == 0)
      return true;
  return false;
}

/// Fills one row of a channel; `from` is the channel.
void PaddedInput::fillPlaneRow(const char *from, int64_t row, char *to) const {
  const int64_t bytes = kernel.elementBytes, step = problem.strideW;
  const int64_t source = row - problem.padTop;
  if (source < 0 || source >= problem.h) {
    std::memset(to, 0, rowElements * bytes);
    return;
  }
  for (int64_t phase = 0; phase < step; ++phase, to += phaseCols * bytes) {
    if (!isUsed(phase, problem.s, problem.dilationW, step))
      continue;
    // Column j holds source column j·step + shift; `first` is the first one
    // inside the image.
    const int64_t shift = phase - problem.padLeft;
    const int64_t first =
        std::clamp<int64_t>((-shift + step - 1) / step, 0, phaseCols);
    const int64_t last = std::clamp<int64_t>(
        (problem.w - shift + step - 1) / step, first, phaseCols);
    std::memset(to, 0, first * bytes);
    const int64_t at = source * problem.w + first * step + shift;
    if (last > first)
      kernel.widen(to + first * bytes,
                   from + at * int64_t(elementBytes(problem.type)),
                   problem.type, last - first, step);
    std::memset(to + last * bytes, 0, (phaseCols - last) * bytes);
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
               problem.type, (last - first) * problem.c, 1);
  std::memset(to + last * bytes, 0, (cols - last) * bytes);
}

void PaddedInput::fill(const void *x, void *to, ThreadPool &pool) {
  taps = reinterpret_cast<int64_t *>(static_cast<char *>(to) + imageBytes());
  fillTaps();
  const int64_t planes = problem.n * (problem.channelsLast ? 1 : problem.c);
  const int64_t planeBytes = problem.h * problem.w *
                             int64_t(elementBytes(problem.type)) *
                             (problem.channelsLast ? problem.c : 1);
  pool.parallelFor(planes * rows, [&](int64_t at, int64_t end) {
    for (; at < end; ++at) {
      const char *from = static_cast<const char *>(x) + at / rows * planeBytes;
      char *out =
          static_cast<char *>(to) + at * rowElements * kernel.elementBytes;
      if (!isUsed(at % rows, problem.r, problem.dilationH, problem.strideH))
        continue;
      if (problem.channelsLast)
        fillPixelRow(from, at % rows, out);
      else
        fillPlaneRow(from, at % rows, out);
    }
  });
}
