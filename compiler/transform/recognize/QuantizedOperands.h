//===- QuantizedOperands.h - Bytes, zero points and scales ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDOPERANDS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDOPERANDS_H

#include "dialects/nn/NN.h"

namespace frit {

/// A tensor of bytes minus a zero point, or of 8-bit floats.
struct Bytes {
  mlir::Value value;
  mlir::Value zero; ///< a number of the same type; null: 0
};

/// Such a tensor times scales.
struct Scaled {
  Bytes bytes;
  llvm::SmallVector<mlir::Value> scales;
};

/// Operators between a weight and its bytes: it may be folded with a norm, and
/// smoothed, before it is quantized at load.
inline constexpr unsigned kWeightDepth = 32;

inline bool isByte(mlir::Type type) { return type.isInteger(8); }
/// Returns whether a type is one of the 8-bit floats that tensor cores
/// multiply.
inline bool isFloat8(mlir::Type type) {
  return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type);
}
inline bool isCode(mlir::Type type) { return isByte(type) || isFloat8(type); }

/// Returns whether a tensor has one element.
bool hasOneElement(mlir::Value value);

/// Creates a number of a type of 8 bits.
mlir::Value createByte(nn::NNBuilder &b, mlir::Type element, int64_t number);

/// Returns the integers of a constant, or nothing if some element is none or
/// has more than 32 bits.
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value);

/// Describes a tensor as one of bytes or 8-bit floats times scales, which are
/// smaller. Roundings of the floats' products to 16 bits are left out.
std::optional<Scaled> describeScaled(nn::NNBuilder &b, mlir::Value value);

/// Returns a factor of a tensor of rank `rank` as a vector if it differs only
/// along `axis`, where the tensor has `count` elements, as a number if it is
/// one, else null.
mlir::Value alongAxis(nn::NNBuilder &b, mlir::Value factor, int64_t rank,
                      int64_t axis, int64_t count);

/// Returns whether a value is computed from a tensor of bytes or 8-bit floats
/// by casts, zero points, scales and movement alone.
bool isDequantized(mlir::Value value);
/// Returns whether an operator multiplies two such values, the second of which
/// depends on constants alone.
bool multipliesQuantized(mlir::Operation *op);
/// Returns whether an operator multiplies dequantized bytes by what depends on
/// constants alone, in any groups. Small weights may be folded.
bool filtersBytes(mlir::Operation *op);
/// Returns whether a rounding is that of a quantization to bytes.
bool quantizes(nn::RoundOp round);

/// Returns whether a quotient is rounded to 8-bit floats, and nothing else
/// reads it.
bool quantizes(nn::DivOp quotient);

/// Lets products of bytes or 8-bit floats that a model dequantizes to 16 bits
/// multiply what it rounded, and rounds their results instead.
void widenProducts(mlir::Block &block);
/// Lets what is quantized by scales of its rows be stored in `narrow`: it has
/// two readers, the scales and the codes, so it cannot stay in registers.
void narrowQuantizedRows(mlir::Block &block, mlir::FloatType narrow);
/// Replaces a pool of a dequantized tensor by that of its bytes, if it is one.
void poolBytes(nn::MaxPoolOp pool);
/// Replaces a quantization of what was dequantized by the same scale and zero
/// point, of which `cast` is the last operator. Returns whether it is one.
bool dropQuantization(nn::CastOp cast);
/// Lets a maximum or minimum of a whole tensor of at least `longRange` elements
/// be found by rows first.
void splitRange(nn::ReduceOp reduce, int64_t longRange);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDOPERANDS_H
