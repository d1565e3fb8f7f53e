//===- QuantizedConvs.h - Forms of quantized operators a target wants -----===//

#ifndef FRIT_DIALECTS_NN_REWRITES_QUANTIZEDCONVS_H
#define FRIT_DIALECTS_NN_REWRITES_QUANTIZEDCONVS_H

#include <cstdint>

namespace frit::nn {

/// A target's answers to the pass `quantized-convs` (a target rewrite).
struct QuantizedRewrite {
  /// The number that the channels of a convolution's input should be a multiple
  /// of, from `fewestChannels` on: its kernel copies that many bytes at once.
  int64_t channelMultiple, fewestChannels;
  /// Elements from which on the range of a tensor, which dynamic quantization
  /// needs, is found by rows first.
  int64_t longRange;
  /// Whether products of 8-bit floats for which there is no kernel may multiply
  /// bf16, which has all of these numbers, and not f32.
  bool narrowsFloats = false;
  /// Whether products without padding should have no zero point on the left:
  /// what it adds to the sums is then subtracted from them, a number for each
  /// filter.
  bool movesZeros = false;
  /// Bytes of two pixels, that a kernel reads as one where windows begin at
  /// every other pixel, and the multiple that filters must be of; 0 if it does
  /// not.
  int64_t pairedBytes = 0, pairedFilters = 1;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_QUANTIZEDCONVS_H
