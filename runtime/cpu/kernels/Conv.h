//===- Conv.h - Shared code of convolution algorithms ---------------------===//
//
// Internal to runtime/cpu/kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_KERNELS_CONV_H
#define FRIT_RUNTIME_CPU_KERNELS_CONV_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/kernels/MicroKernel.h"

namespace frit::cpu {

/// A copy of x with its padding written out, in the accumulator's type, so that
/// inner loops need neither bounds checks nor conversions. As large as x, not
/// as the im2col matrix.
///
/// With channels first, it consists of planes. Their rows and columns are
/// grouped by their remainders modulo the strides ("phases"). In each tap, the
/// next output is then the next element, and the next row of outputs is `pitch`
/// elements further, so that rows can be computed as one, whose outputs from
/// column q of each row on are dropped.
class PaddedInput {
public:
  PaddedInput(const artifact::Conv &problem, const MicroKernel &kernel);

  /// Returns the bytes of the copy, of the over-read that kernels are allowed
  /// past its end, and of the table of taps; 0 on overflow.
  uint64_t bytes() const;

  /// Writes the copy into `bytes()` bytes at `to`, aligned for elements and
  /// pointers.
  void fill(const void *x, void *to, ThreadPool &pool);

  /// `origin` is the element that output (0, 0) of an image and channel
  /// multiplies by the filter's first tap; `tap` is the offset of another tap
  /// from there.
  int64_t origin(int64_t image, int64_t channel) const {
    return image * imageElements + channel * channelElements;
  }
  int64_t tap(int64_t index) const { return taps[index]; }
  /// Offsets to the next output down and to the right.
  int64_t nextRow() const { return nextOutputRow; }
  int64_t nextCol() const { return nextColumn; }

  /// Of channels first.
  int64_t pitch() const { return rowElements; }
  int64_t planeElements() const { return channelElements; }
  int64_t tapInPlane(int64_t index) const;
  /// Writes the pixels of a channel to a plane; its padding stays as it is.
  void fillPlane(const void *from, char *to) const;
  bool isPadded() const {
    return problem.padTop > 0 || problem.padLeft > 0 || problem.padBottom > 0 ||
           problem.padRight > 0;
  }

private:
  uint64_t imageBytes() const;
  void fillPixelRow(const char *from, int64_t row, char *to) const;

  const artifact::Conv &problem;
  const MicroKernel &kernel;
  int64_t rows;        ///< of a padded image, channels last, or of a phase
  int64_t rowElements; ///< of such a row
  int64_t imageElements, channelElements, nextColumn, nextOutputRow;
  int64_t *taps = nullptr; ///< stored after the elements
};

inline const void *advance(const void *from, int64_t bytes) {
  return static_cast<const char *>(from) + bytes;
}

/// Returns the scratch memory that `depthwise` needs; none on overflow.
std::optional<ScratchSize> depthwiseScratch(const artifact::Conv &problem,
                                            const MicroKernel &kernel,
                                            unsigned threads);

/// As frit::cpu::packedForm and packFilters, for depthwise convolutions.
PackedForm depthwiseForm(const artifact::Conv &problem,
                         const MicroKernel &kernel);
void packDepthwiseFilters(const artifact::Conv &problem,
                          const MicroKernel &kernel, const void *filters,
                          void *to);

/// Computes convolutions with one input channel per group, whose filters are
/// too small for a matrix product. `x` and `w` are stored as the problem says;
/// `packed` may be null.
void depthwise(const artifact::Conv &problem, const MicroKernel &kernel,
               const void *x, const void *w, const void *packed,
               const Output &output, ThreadPool &pool);

/// Returns whether a convolution, unless depthwise, is computed by reading
/// pixels where they lie: those in f32 with channels last.
bool takesPixels(const artifact::Conv &problem);

/// As frit::cpu::scratchOf, packedForm, packFilters and convPacked. `packed`
/// may be null.
std::optional<ScratchSize> pixelScratch(const artifact::Conv &problem,
                                        const MicroKernel &kernel,
                                        unsigned threads);
PackedForm pixelForm(const artifact::Conv &problem, const MicroKernel &kernel);
void packPixelFilters(const artifact::Conv &problem, const MicroKernel &kernel,
                      const void *filters, void *to);
void convolvePixels(const artifact::Conv &problem, const MicroKernel &kernel,
                    const void *x, const void *w, const void *packed,
                    const Output &output, ThreadPool &pool);

/// Returns the scratch memory that `quantizedConv` needs; none on overflow.
std::optional<ScratchSize> quantizedScratch(const artifact::Conv &problem,
                                            Isa isa, unsigned threads);

/// Computes a convolution of quantized tensors.
void quantizedConv(const artifact::Conv &problem, void *const *arguments,
                   ThreadPool &pool, const void *packed);

namespace quantized {
/// As frit::cpu::packedForm and packFilters, for quantized convolutions.
PackedForm packedForm(const artifact::Conv &problem, const void *zeroW,
                      Isa isa);
bool packFilters(const artifact::Conv &problem, const void *filters,
                 const void *zeroW, Isa isa, void *to);
} // namespace quantized

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_KERNELS_CONV_H
