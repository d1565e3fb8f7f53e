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

  /// What makes the numbers of a block: the number of each code, where a vector
  /// holds them, or else the factor and the addend, or null, in all lanes.
  struct Factors {
    mlir::Value scale, offset, table;
  };
  Factors loadFactors(mlir::Value block);

  /// The order of the numbers in a vector: as in memory, or halves of it in
  /// turn, which takes fewer instructions. Only some codes have the latter.
  enum class Order { whole, halves };
  bool hasHalves() const { return hasTable(); }

  /// Returns the numbers of the kStepBytes of codes from a byte on, in vectors.
  llvm::SmallVector<mlir::Value>
  decode(mlir::Value byte, const Factors &factors, Order order = Order::whole);
  /// Puts a vector in the order of halves, and back.
  mlir::Value toHalves(mlir::Value vector);
  mlir::Value fromHalves(mlir::Value vector);

  /// Returns the numbers of one vector of codes of 8 bits from a byte on.
  mlir::Value decodeVector(mlir::Value byte, const Factors &factors);

private:
  using VectorBuilder::splat;
  mlir::Value splat(mlir::VectorType type, int64_t value);
  /// Whether a vector has a lane for each code, of which an instruction of
  /// AVX-512 selects some.
  bool hasTable() const { return nn::bitsOf(code) == 4 && lanes == 16; }
  /// Whether a word of codes is spread over a vector of AVX2.
  bool hasWords() const { return nn::bitsOf(code) == 4 && lanes == 8; }
  mlir::Value tableOf(mlir::Value scale, mlir::Value offset);
  mlir::Value codesOf(mlir::Value byte, int64_t vector, Order order);
  llvm::SmallVector<int32_t> halves();
  llvm::SmallVector<mlir::Value, 2> unpack(mlir::Value bytes);
  mlir::Value numbersOf(mlir::Value bytes);
  mlir::Value numberOf(mlir::Value words, const Factors &factors);
  mlir::Value scaled(mlir::Value number, const Factors &factors);
  mlir::Value twiceE2m1(mlir::Value bytes);
  mlir::Value fromE4m3(mlir::Value bytes);

  nn::Code code;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CODENUMBERS_H
