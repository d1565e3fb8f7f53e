//===- Narrowing.h - A function in a narrower float type ------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PRECISION_NARROWING_H
#define FRIT_COMPILER_TRANSFORM_PRECISION_NARROWING_H

#include "compiler/transform/Graph.h"
#include "compiler/transform/precision/LossTail.h"
#include "compiler/transform/precision/WideReaders.h"

namespace frit::precision {

/// Returns whether a value is a tensor of elements of a type.
bool isTensorOf(mlir::Value value, mlir::Type element);

/// Rewrites one function in place, in program order.
class Narrowing {
public:
  /// Narrows values of type `from`, f32. If `from` is `to`, values of this type
  /// become f32 where they must.
  Narrowing(mlir::FloatType from, mlir::FloatType to,
            llvm::ArrayRef<std::string> keep, mlir::Block &block)
      : from(from), to(to), kept(keep), readers(keep, block), loss(block) {}

  void run(mlir::Block &block);

private:
  /// The two forms of a value of type `from`; one of them may be null.
  struct Forms {
    mlir::Value wide, narrow;
    bool kept = false;      ///< its producer stays f32
    bool named = false;     ///< computed by a node that `keep` names
    bool parameter = false; ///< the elements of a parameter that trains
    bool scaled = false;    ///< multiplied by one, and only elementwise since
    bool summed = false;    ///< sums of codes, and only elementwise since
  };

  void rewrite(mlir::Operation *op);
  mlir::Value wide(mlir::Value value);
  mlir::Value narrow(mlir::Value value);
  mlir::Value narrowConstant(nn::ConstantOp constant, mlir::OpBuilder &builder);
  mlir::Value saturate(mlir::Value value, mlir::OpBuilder &builder);
  bool followsWide(mlir::Operation *op);
  bool leadsToWide(mlir::Operation *op);
  bool findsWide(mlir::Operation *op);
  bool centres(mlir::Operation *op);
  bool isScale(mlir::Operation *op);
  bool isScaled(mlir::Operation *op);
  bool isSummed(mlir::Operation *op);

  bool isFrom(mlir::Value value) const { return isTensorOf(value, from); }
  /// Returns whether the value has type `from` in the model; its type may have
  /// changed since.
  bool wasFrom(mlir::Value value) {
    return isFrom(value) || forms.contains(value);
  }
  /// Returns whether 16-bit values of the model itself become f32.
  bool widens() const { return from == to; }

  /// Returns whether the value has the elements of a parameter that trains.
  bool scales(mlir::Value value) {
    return isParameter(value) || forms.lookup(value).parameter;
  }

  mlir::FloatType from, to;
  llvm::ArrayRef<std::string> kept; ///< globs of nodes' names
  WideReaders readers;
  LossTail loss;
  llvm::DenseMap<mlir::Value, Forms> forms;
};

} // namespace frit::precision

#endif // FRIT_COMPILER_TRANSFORM_PRECISION_NARROWING_H
