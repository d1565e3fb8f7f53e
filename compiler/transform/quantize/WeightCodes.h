//===- WeightCodes.h - Round weights to few bits --------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTCODES_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTCODES_H

#include "dialects/nn/operators/Quantized.h"

namespace frit {

/// How weights are stored.
struct WeightFormat {
  nn::Code code;
  int64_t block = 0; ///< columns that share a scale; 0: all of a row
};

/// Reads "int8", "int4:64", "fp8:128" or "mxfp4"; none if it is no format.
/// Blocks have a power of two of 32 to 1024 columns.
std::optional<WeightFormat> readWeightFormat(llvm::StringRef text);

/// Codes and scales as nn.dequantize takes them.
struct WeightCodes {
  mlir::ElementsAttr codes, scales;
};

/// Rounds a matrix of f32, f16 or bf16 to the nearest codes; with `transposed`,
/// its columns are the rows. None if it has a number that is not finite, or its
/// rows are no whole blocks.
std::optional<WeightCodes> roundWeights(mlir::ElementsAttr matrix,
                                        bool transposed, WeightFormat format);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTCODES_H
