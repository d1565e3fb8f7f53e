//===- CodedMatrix.h - A matrix of codes from a folder --------------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_CODEDMATRIX_H
#define FRIT_COMPILER_DECODER_QUANTIZED_CODEDMATRIX_H

#include "dialects/nn/operators/Quantized.h"

namespace frit::decoder {

/// A matrix, outputs × inputs, as nn.dequantize has it.
struct CodedMatrix {
  nn::Code code;
  mlir::ElementsAttr codes, scales;
  mlir::ElementsAttr offsets; ///< may be null
  /// The input that each column multiplies, i32; null: that of its number.
  mlir::ElementsAttr order;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_CODEDMATRIX_H
