//===- CodedRows.h - Rows of caches in 8 bits -----------------------------===//

#ifndef FRIT_COMPILER_DECODER_CODEDROWS_H
#define FRIT_COMPILER_DECODER_CODEDROWS_H

#include "dialects/nn/operators/Quantized.h"

namespace frit::decoder {

/// Rows of codes, one per element, of u8, and a scale for each row, of f32:
/// its last dimension is 1. The largest number of a row has the last code.
struct CodedRows {
  mlir::Value codes, scales;
};

/// Builds the codes, int8 or e4m3, of rows of numbers: the last dimension.
CodedRows encodeRows(nn::NNBuilder &b, mlir::Value rows, nn::Code code);

/// Builds the numbers of codes, of the type `element`.
mlir::Value decodeRows(nn::NNBuilder &b, const CodedRows &rows, nn::Code code,
                       mlir::Type element);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CODEDROWS_H
