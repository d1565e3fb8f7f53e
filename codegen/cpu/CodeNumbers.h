//===- CodeNumbers.h - Numbers of codes in registers ----------------------===//

#ifndef FRIT_CODEGEN_CPU_CODENUMBERS_H
#define FRIT_CODEGEN_CPU_CODENUMBERS_H

#include "dialects/nn/operators/Quantized.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::cpu {

/// Bytes of codes that are decoded at once.
inline constexpr int64_t kStepBytes = 16;

/// Builds loads of codes, decoded to vectors of f32, in a function under
/// construction. `b` must outlive it; operators go where it inserts. Offsets
/// are indices of elements.
class CodeNumbers {
public:
  CodeNumbers(mlir::ImplicitLocOpBuilder &b, nn::Code code, int64_t lanes)
      : b(b), code(code), lanes(lanes) {}

  /// Pointers to the packed bytes and to the scales and offsets of blocks,
  /// which have the type `factor`; offsets may be null.
  mlir::Value codes, scales, offsets;
  mlir::Type factor;

  /// The factor and the addend, or null, in all lanes, that make the numbers of
  /// a block.
  struct Factors {
    mlir::Value scale, offset;
  };
  Factors loadFactors(mlir::Value block);

  /// Returns the numbers of the kStepBytes of codes from a byte on, in vectors.
  llvm::SmallVector<mlir::Value> decode(mlir::Value byte,
                                        const Factors &factors);

  mlir::Value pointerTo(mlir::Value buffer);
  mlir::Value zeros();
  /// x · y + sum, in one rounding where the processor has that.
  mlir::Value mulAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// Loads a vector of numbers of `element`, f32 or 16 bits, as f32.
  mlir::Value loadFloats(mlir::Value from, mlir::Type element,
                         mlir::Value offset);
  void storeFloats(mlir::Value vector, mlir::Value to, mlir::Value offset);
  /// Stores the sum of a vector's lanes as a number of `element`.
  void storeSum(mlir::Value vector, mlir::Value to, mlir::Type element,
                mlir::Value offset);

private:
  mlir::VectorType vectorOf(mlir::Type element, int64_t size) {
    return mlir::VectorType::get({size}, element);
  }
  mlir::Value splat(mlir::VectorType type, int64_t value);
  mlir::Value splat(float value);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value address(mlir::Value base, mlir::Type element, mlir::Value offset);
  mlir::Value loadFactor(mlir::Value from, mlir::Value block);
  llvm::SmallVector<mlir::Value, 2> unpack(mlir::Value bytes);
  mlir::Value numbersOf(mlir::Value bytes);
  mlir::Value twiceE2m1(mlir::Value bytes);
  mlir::Value fromE4m3(mlir::Value bytes);

  mlir::ImplicitLocOpBuilder &b;
  nn::Code code;
  int64_t lanes;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CODENUMBERS_H
