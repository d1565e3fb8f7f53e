//===- PixelPieces.cpp - Pointers to the pieces of pixels -----------------===//

#include "runtime/cpu/kernels/PixelPieces.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

namespace {
/// Channels below which the taps of a filter row are read as one piece.
constexpr int64_t kFewChannels = 16;
} // namespace

PixelPieces::PixelPieces(const artifact::Conv &problem,
                         const MicroKernel &kernel, bool copies)
    : problem(problem), kernel(kernel), padded(problem, kernel),
      merges(problem.groups == 1 && problem.dilationW == 1 && problem.s > 1 &&
             problem.c < kFewChannels),
      copied(copies || merges),
      pieces(merges ? problem.r : problem.r * problem.s),
      elements(merges ? problem.s * problem.c : problem.c) {}

std::optional<uint64_t> PixelPieces::bytes() const {
  if (!copied)
    return (uint64_t(elements) * kernel.elementBytes + 63) / 64 * 64;
  if (const uint64_t bytes = padded.bytes())
    return (bytes + 63) / 64 * 64;
  return std::nullopt;
}

void PixelPieces::prepare(const void *x, void *memory, ThreadPool &pool) {
  from = static_cast<const char *>(copied ? memory : x);
  zeros = static_cast<const char *>(memory);
  if (copied)
    padded.fill(x, memory, pool);
  else
    std::memset(memory, 0, elements * kernel.elementBytes);
}

/// Lists `count` pixels of one row of outputs.
void PixelPieces::listTap(const void **to, int64_t tap, int64_t image,
                          int64_t row, int64_t col, int64_t count) const {
  const auto &c = problem;
  const int64_t bytes = kernel.elementBytes;
  if (copied) {
    const int64_t at = padded.origin(image, 0) + row * padded.nextRow() +
                       col * padded.nextCol() +
                       padded.tap(merges ? tap * c.s : tap);
    return kernel.listPixels(to, count, from + at * bytes,
                             padded.nextCol() * bytes);
  }
  const int64_t y = row * c.strideH + tap / c.s * c.dilationH - c.padTop;
  const int64_t x = col * c.strideW + tap % c.s * c.dilationW - c.padLeft;
  // Pixels [first, last) are inside the image.
  int64_t first = 0, last = 0;
  if (y >= 0 && y < c.h) {
    first = std::min(count, x < 0 ? (c.strideW - 1 - x) / c.strideW : 0);
    last = x < c.w
               ? std::clamp((c.w - x + c.strideW - 1) / c.strideW, first, count)
               : first;
  }
  kernel.listPixels(to, first, zeros, 0);
  if (first < last)
    kernel.listPixels(to + first, last - first,
                      from + ((image * c.h + y) * c.w + x + first * c.strideW) *
                                 c.c * bytes,
                      c.strideW * c.c * bytes);
  kernel.listPixels(to + last, count - last, zeros, 0);
}

void PixelPieces::list(const void **table, int64_t stride, int64_t first,
                       int64_t count) const {
  const int64_t image = problem.p * problem.q;
  for (int64_t done = 0; done < count;) {
    const int64_t pixel = (first + done) % image;
    const int64_t col = pixel % problem.q;
    const int64_t size = std::min(problem.q - col, count - done);
    for (int64_t t = 0; t < pieces; ++t)
      listTap(table + t * stride + done, t, (first + done) / image,
              pixel / problem.q, col, size);
    done += size;
  }
  for (int64_t t = 0; t < pieces; ++t)
    kernel.listPixels(table + t * stride + count, kPixelRows,
                      table[t * stride + count - 1], 0);
}
