//===- Conv.h - What the ways to compute a convolution share --------------===//
//
// Internal to runtime/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CPU_CONV_H
#define FRIT_CPU_CONV_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/MicroKernel.h"

namespace frit::cpu {

/// x with its padding written out and in the accumulator's type, so that no
/// inner loop asks whether a tap is inside or converts. Where width follows
/// height and channels come first, columns that are a stride apart are moved
/// together: whatever the stride, what one tap reads for a row of outputs is
/// contiguous. This is x's size, not that of the matrix of all taps.
class PaddedInput {
public:
  PaddedInput(const artifact::Conv &problem, const MicroKernel &kernel);

  /// Including what kernels may read past the end, and the table of taps; 0
  /// where no memory could be so large.
  uint64_t bytes() const;

  /// Writes x into memory of so many bytes, which is aligned as elements and
  /// pointers want it.
  void fill(const void *x, void *to, ThreadPool &pool);

  /// The element that output (0, 0) of an image and channel multiplies by the
  /// filter's first tap, and how much further the other taps are.
  int64_t origin(int64_t image, int64_t channel) const {
    return image * imageElements + channel * channelElements;
  }
  int64_t tap(int64_t index) const { return taps[index]; }
  /// How much further that is for the next output down and to the right.
  int64_t nextRow() const { return problem.strideH * rowElements; }
  int64_t nextCol() const { return nextColumn; }

private:
  uint64_t imageBytes() const;
  void fillTaps();
  void fillPlaneRow(const char *from, int64_t row, char *to) const;
  void fillPixelRow(const char *from, int64_t row, char *to) const;

  const artifact::Conv &problem;
  const MicroKernel &kernel;
  int64_t rows;        ///< of an image, padding included
  int64_t phaseCols;   ///< of a phase: the columns of one remainder by stride
  int64_t rowElements; ///< of all phases, or of all pixels' channels
  int64_t imageElements, channelElements, nextColumn;
  int64_t *taps = nullptr; ///< behind the elements
};

inline const void *advance(const void *from, int64_t bytes) {
  return static_cast<const char *>(from) + bytes;
}

/// What the pool must hold for `depthwise`; nothing where no memory could be so
/// large.
std::optional<ScratchSize> depthwiseScratch(const artifact::Conv &problem,
                                            const MicroKernel &kernel);

/// Convolutions with one input channel per group, whose filters are too small
/// to be a matrix product. `x` and `w` are as the problem has them.
void depthwise(const artifact::Conv &problem, const MicroKernel &kernel,
               const void *x, const void *w, const Output &output,
               ThreadPool &pool);

} // namespace frit::cpu

#endif // FRIT_CPU_CONV_H
