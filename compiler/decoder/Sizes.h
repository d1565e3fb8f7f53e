//===- Sizes.h - What is compiled of a decoder ----------------------------===//

#ifndef FRIT_COMPILER_DECODER_SIZES_H
#define FRIT_COMPILER_DECODER_SIZES_H

#include "compiler/decoder/Rotary.h"
#include "dialects/nn/operators/Quantized.h"

#include "mlir/IR/Location.h"

namespace frit::decoder {

/// The largest context that a model can be compiled for.
inline constexpr int64_t kLargestContext = int64_t(1) << 22;

/// The context that is chosen unless the model or the user has a smaller one.
inline constexpr int64_t kDefaultContext = 4096;

/// What is compiled of a decoder.
struct DecoderSizes {
  int64_t batch = 1;      ///< sequences
  int64_t context = 1;    ///< tokens that caches hold, up to kLargestContext
  mlir::Type element;     ///< of activations and caches: f32, f16 or bf16
  mlir::Location located; ///< the model's file or folder
  int64_t places = 0;     ///< of the source that caches hold; 0: no encoder
  int64_t loraRank = 0;   ///< most rank of adapters; 0: there are none
  /// What caches of the sequence hold instead of numbers: int8 or e4m3.
  std::optional<nn::Code> cache = {};
  /// The tables of each of DecoderConfig::rotaries.
  std::vector<RotaryAttrs> tables = {};
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_SIZES_H
