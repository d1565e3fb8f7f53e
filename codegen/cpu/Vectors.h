//===- Vectors.h - Vectors of f32 in registers ----------------------------===//

#ifndef FRIT_CODEGEN_CPU_VECTORS_H
#define FRIT_CODEGEN_CPU_VECTORS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::cpu {

/// Vectors of a processor: f32 lanes and registers.
struct Vectors {
  int64_t lanes, registers;
};

/// Returns the vectors of a target of frit/host_arch.h. More lanes than the
/// processor's would be several registers each.
Vectors vectorsOf(llvm::StringRef arch);

/// Builds operators on vectors of f32 in a function under construction. `b`
/// must outlive it; operators go where it inserts. Offsets are indices of
/// elements.
class VectorBuilder {
public:
  VectorBuilder(mlir::ImplicitLocOpBuilder &b, int64_t lanes)
      : b(b), lanes(lanes) {}

  mlir::Value pointerTo(mlir::Value buffer);
  mlir::Value splat(float value);
  mlir::Value zeros() { return splat(0); }
  /// Puts a scalar into all lanes.
  mlir::Value broadcast(mlir::Value scalar);
  /// x · y + sum, in one rounding where the processor has that.
  mlir::Value mulAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// Adds up the lanes, in an order that depends on their number alone.
  mlir::Value sumOf(mlir::Value vector);
  /// Adds up the lanes of each vector, halves first, in the same order for any
  /// number of vectors: a power of two, at most the lanes. Returns their sums
  /// in one vector, or one sum as a scalar.
  mlir::Value sumsOf(llvm::ArrayRef<mlir::Value> vectors);

  mlir::Value most(mlir::Value x, mlir::Value y);
  /// Returns the greatest lane, NaN if one is.
  mlir::Value mostOf(mlir::Value vector);
  /// Puts an index that fits in 32 bits into all lanes, as i32.
  mlir::Value spread(mlir::Value at);
  /// Returns start + i in each lane i, as i32.
  mlir::Value placesFrom(mlir::Value start);
  /// Returns for each lane i whether first <= start + i < last. Indices fit in
  /// 32 bits.
  mlir::Value isWithin(mlir::Value start, mlir::Value first, mlir::Value last);

  mlir::Value loadInteger(mlir::Value from, mlir::Type type,
                          mlir::Value offset);
  /// Stores an index that fits in 32 bits as i32.
  void storeInteger(mlir::Value value, mlir::Value to, mlir::Value offset);
  /// Loads a number of `element`, f32 or 16 bits, as f32.
  mlir::Value loadFloat(mlir::Value from, mlir::Type element,
                        mlir::Value offset);
  /// Loads such a number into all lanes.
  mlir::Value loadInAll(mlir::Value from, mlir::Type element,
                        mlir::Value offset);
  /// Loads a vector of such numbers.
  mlir::Value loadFloats(mlir::Value from, mlir::Type element,
                         mlir::Value offset);
  /// Loads a vector of i8.
  mlir::Value loadBytes(mlir::Value from, mlir::Value offset);
  /// Returns the lanes of one or two vectors that `order` names.
  mlir::Value shuffle(mlir::Value first, mlir::Value second,
                      llvm::ArrayRef<int32_t> order);
  mlir::Value shuffle(mlir::Value vector, llvm::ArrayRef<int32_t> order) {
    return shuffle(vector, vector, order);
  }
  /// Stores an f32 or a vector of any size of them as numbers of `element`.
  void store(mlir::Value value, mlir::Value to, mlir::Type element,
             mlir::Value offset);

protected:
  mlir::VectorType vectorOf(mlir::Type element, int64_t size) {
    return mlir::VectorType::get({size}, element);
  }
  mlir::VectorType vectorOf(mlir::Type element) {
    return vectorOf(element, lanes);
  }
  mlir::Value address(mlir::Value base, mlir::Type element, mlir::Value offset);

  mlir::ImplicitLocOpBuilder &b;
  int64_t lanes;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_VECTORS_H
