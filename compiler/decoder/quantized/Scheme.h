//===- Scheme.h - How a folder's weights are quantised --------------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_SCHEME_H
#define FRIT_COMPILER_DECODER_QUANTIZED_SCHEME_H

#include "compiler/decoder/JsonFields.h"

#include <vector>

namespace frit::decoder {

/// The order of codes in tensors `.qweight`. Their shapes do not tell it.
enum class Packing { unknown, gptq, awq };

/// What "quantization_config" of config.json says and tensors do not.
struct Scheme {
  bool isQuantized = false; ///< there is such a member
  Packing packing = Packing::unknown;
  bool zerosLessOne = false; ///< zero points are stored minus 1
  std::vector<int64_t> bits; ///< of words' codes, of any matrix: 2, 4 or 8
  /// Columns that share a scale, of any matrix; -1: all. Empty: not said.
  std::vector<int64_t> groupSizes;
  int64_t blockRows = 128, blockColumns = 128; ///< of floats of 8 bits
};

/// Reads "quantization_config" from the text of a config.json, which is an
/// object. None after errors at `loc`: an unknown method, layout or number of
/// bits.
std::optional<Scheme> readScheme(llvm::StringRef text, mlir::Location loc);

/// Reads the text of a quantize_config.json, which AutoGPTQ wrote before
/// config.json had the member. None after errors at `loc`.
std::optional<Scheme> readOlderScheme(llvm::StringRef text, mlir::Location loc);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_SCHEME_H
