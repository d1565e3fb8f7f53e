//===- PixelPieces.h - What output pixels are multiplied by ---------------===//
//
// Internal to runtime/cpu/kernels. With channels last, each tap of a pixel is a
// contiguous piece of x. A table of pointers to these pieces replaces im2col.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_KERNELS_PIXELPIECES_H
#define FRIT_RUNTIME_CPU_KERNELS_PIXELPIECES_H

#include "runtime/cpu/kernels/Conv.h"

namespace frit::cpu {

/// The pieces that each output pixel is multiplied by. Over few channels, those
/// of a filter row are one piece of a copy of x with its padding written out.
/// Elsewhere padding is a pointer to zeros.
class PixelPieces {
public:
  /// `copies`: whether x is copied even if it has many channels, because its
  /// type is not the accumulator's.
  PixelPieces(const artifact::Conv &problem, const MicroKernel &kernel,
              bool copies);

  int64_t taps() const { return pieces; }
  /// Returns the elements of a piece, of all groups.
  int64_t depth() const { return elements; }

  /// Returns the bytes of the copy or of the zeros; none on overflow.
  std::optional<uint64_t> bytes() const;
  /// Sets x, and writes the copy or the zeros to `memory`.
  void prepare(const void *x, void *memory, ThreadPool &pool);

  /// Writes pointers for pixels [first, first + count) of all images: that of
  /// tap t and pixel i to table[t·stride + i]. `stride` is at least `count` +
  /// kPixelRows; the next kPixelRows pointers are to readable pieces too.
  void list(const void **table, int64_t stride, int64_t first,
            int64_t count) const;

private:
  void listTap(const void **to, int64_t tap, int64_t image, int64_t row,
               int64_t col, int64_t count) const;

  const artifact::Conv &problem;
  const MicroKernel &kernel;
  PaddedInput padded;
  bool merges; ///< the taps of a filter row
  bool copied;
  int64_t pieces, elements;
  const char *from = nullptr, *zeros = nullptr;
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_KERNELS_PIXELPIECES_H
