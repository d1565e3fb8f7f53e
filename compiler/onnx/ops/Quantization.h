//===- Quantization.h - Quantize and dequantize ---------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_QUANTIZATION_H
#define FRIT_COMPILER_ONNX_OPS_QUANTIZATION_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Builds round(x / scale) + zero, clamped to the range of `to`; `zero` may be
/// null. Floats beyond the range become NaN or infinity if `wraps`.
Expr quantize(Expr x, Expr scale, Expr zero, mlir::Type to, bool wraps);

/// Reports a scale that nothing can be divided by, if the compiler knows it: 0,
/// a negative or infinite one, NaN.
void checkDivisor(Expr scale);

/// Builds (x - zero) · scale, in f32 or wider. A scale and a zero point, which
/// may be null, are single numbers, vectors along `axis`, or have an entry per
/// `block` elements along it.
Expr dequantize(Expr x, Expr scale, Expr zero, int64_t axis, int64_t block);

struct Quantized {
  Expr value, scale, zero;
};

/// Scales the range of x, including 0, to that of u8.
Quantized quantizeDynamically(Expr x);

/// Subtracts from x its zero point, which may be null, as i32. A vector of zero
/// points has one per row of the last two dimensions, or per column.
Expr subtractZero(Expr x, Expr zero, bool byRow);

/// Returns an input; null, without an error, if it was omitted.
inline Expr optionalInput(Node &node, size_t i) {
  return {node, node.has(i) ? node.input(i) : mlir::Value()};
}

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_QUANTIZATION_H
