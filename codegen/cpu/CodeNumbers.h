//===- CodeNumbers.h - Numbers of codes in registers ----------------------===//

#ifndef FRIT_CODEGEN_CPU_CODENUMBERS_H
#define FRIT_CODEGEN_CPU_CODENUMBERS_H

#include "codegen/cpu/Vectors.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::cpu {

/// Bytes of codes that are decoded at once.
inline constexpr int64_t kStepBytes = 16;

/// Builds loads of codes, decoded to vectors of f32, in a function under
/// construction. `b` must outlive it; operators go where it inserts. Offsets
/// are indices of elements.
class CodeNumbers : public VectorBuilder {
public:
  CodeNumbers(mlir::ImplicitLocOpBuilder &b, nn::Code code, int64_t lanes)
      : VectorBuilder(b, lanes), code(code) {}

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

  /// Returns the numbers of one vector of codes of 8 bits from a byte on.
  mlir::Value decodeVector(mlir::Value byte, const Factors &factors);

private:
  using VectorBuilder::splat;
  mlir::Value splat(mlir::VectorType type, int64_t value);
  llvm::SmallVector<mlir::Value, 2> unpack(mlir::Value bytes);
  mlir::Value numbersOf(mlir::Value bytes);
  mlir::Value numbersOf(mlir::Value bytes, const Factors &factors);
  mlir::Value twiceE2m1(mlir::Value bytes);
  mlir::Value fromE4m3(mlir::Value bytes);

  nn::Code code;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CODENUMBERS_H
