//===- QuantizedEpilogue.h - What follows an integer product --------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDEPILOGUE_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDEPILOGUE_H

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/QuantizedOperands.h"

namespace frit {

/// What follows a product. `end` is the last operator that becomes a part of
/// it.
class QuantizedEpilogue {
public:
  QuantizedEpilogue(nn::NNBuilder &b, mlir::Operation *product, int64_t axis,
                    int64_t count)
      : b(b), end(product), rank(resultType(product).getRank()), axis(axis),
        count(count) {}

  /// Takes a vector with a number for each filter that the product adds.
  bool takeBias(mlir::Value vector);
  /// Takes the operators after the product, as far as possible.
  void extend();
  void multiply(mlir::Value factor) {
    scale = scale ? b.mul(scale, factor) : factor;
    if (bias)
      bias = b.mul(bias, factor);
  }

  nn::NNBuilder &b;
  mlir::Operation *end;
  mlir::Value scale, bias, offset, zero;
  bool relu = false;

private:
  bool take(mlir::Operation *next);
  bool takeAddend(mlir::Value addend);
  bool takeQuantization(nn::DivOp div);
  mlir::Operation *reader(mlir::Operation *op) const {
    return op->getResult(0).hasOneUse() ? *op->getResult(0).user_begin()
                                        : nullptr;
  }
  mlir::Type element() const { return resultType(end).getElementType(); }
  mlir::Value factor(mlir::Value value) {
    return nn::tensorType(value).getElementType().isF32()
               ? alongAxis(b, value, rank, axis, count)
               : mlir::Value();
  }

  int64_t rank, axis, count;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDEPILOGUE_H
