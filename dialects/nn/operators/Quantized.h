//===- Quantized.h - Tensors of few bits ----------------------------------===//
//
// Apart from NN.h, because few files need it. A tile of codes is 16 rows by 32
// bytes: 64 columns of 4 bits, or 32 of 8. A warp reads a tile as 16 bytes per
// lane, and the lane g · 4 + t gets the words t and t + 4 of row g, then those
// of row g + 8, which belong to it in an mma.m16n8k16. In the order of tiles
// are
//
//   codes   rows / 16 × row bytes / 32 × 512: g, t, upper or lower row, half
//   scales  rows / 16 × blocks × 16: g, upper or lower row
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_QUANTIZED_H
#define FRIT_DIALECTS_NN_OPERATORS_QUANTIZED_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Quantized.h.inc"

namespace frit::nn {

/// What a code of a few bits stands for.
enum class Code { int4, int8, e2m1, e4m3 };

/// Returns the code of this name, as nn.dequantize has it.
std::optional<Code> codeNamed(llvm::StringRef name);
llvm::StringRef nameOf(Code code);

inline int64_t bitsOf(Code code) {
  return code == Code::int4 || code == Code::e2m1 ? 4 : 8;
}

/// Returns whether codes stand for integers.
inline bool isInteger(Code code) {
  return code == Code::int4 || code == Code::int8;
}

/// A matrix as nn.dequantize has it, with its sizes.
struct QuantizedMatrix {
  mlir::Value codes, scales, offsets; ///< offsets may be null
  Code code;
  int64_t rows, columns;
  int64_t block; ///< columns that share a scale
};

QuantizedMatrix describeQuantized(DequantizeOp op);

inline constexpr int64_t kTileRows = 16, kTileRowBytes = 32;
inline constexpr int64_t kTileBytes = kTileRows * kTileRowBytes;

/// Returns whether a matrix consists of whole tiles.
inline bool hasWholeTiles(const QuantizedMatrix &matrix) {
  return matrix.rows % kTileRows == 0 &&
         matrix.columns * bitsOf(matrix.code) / 8 % kTileRowBytes == 0;
}

/// Builds the numbers, in f32, of one code per element.
mlir::Value numbersOfCodes(NNBuilder &b, mlir::Value codes, Code code);

/// Build codes, or scales or offsets, in the order of tiles; and back.
mlir::Value tileCodes(NNBuilder &b, mlir::Value codes);
mlir::Value tileScales(NNBuilder &b, mlir::Value scales);
mlir::Value untileCodes(NNBuilder &b, mlir::Value tiled);
mlir::Value untileScales(NNBuilder &b, mlir::Value tiled);

} // namespace frit::nn

namespace frit {

/// The rewrite of the pass `tile-weights`: the target's kernels read tiles.
struct TiledWeightsRewrite {};

} // namespace frit

#endif // FRIT_DIALECTS_NN_OPERATORS_QUANTIZED_H
