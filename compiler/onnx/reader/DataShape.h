//===- DataShape.h - Shapes that depend on the data -----------------------===//
//
// The abstract domain of sizes. A tensor whose size the data decide has the
// static shape of the most entries there may be, and nn.counted marks the
// dimensions of which only the first entries count:
//
//   %i = nn.counted %all, %n {axis = 0} : tensor<100xi64>
//
// Its size is a Size: a number, or a sum of multiples of numbers that the model
// computes. What models compute from sizes (Shape, Gather, Min, ...) are Sizes
// as well, so that a Reshape, a TopK or a Slice knows which dimension of its
// result is which, and the most there may be. Equal Sizes are one value of the
// model, so that tensors of one size are known to fit.
//
// Every operator passes on what is marked (Spread.cpp); no target sees the
// marks.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_DATASHAPE_H
#define FRIT_COMPILER_ONNX_READER_DATASHAPE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace frit::importer {

class Node;

/// constant + sum of factor · number, the numbers in ascending order.
struct Size {
  struct Term {
    unsigned number; ///< of those that DataSizes knows
    int64_t factor;
    bool operator==(const Term &) const = default;
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 1> terms = {};

  Size(int64_t constant = 0) : constant(constant) {}
  bool isKnown() const { return terms.empty(); }
  bool operator==(const Size &) const = default;
};

/// The sizes of a tensor, or the elements of a small one that is computed from
/// sizes.
using DataShape = llvm::SmallVector<Size, 4>;

/// What an integer is at least and at most.
struct SizeRange {
  int64_t least, most;
};

/// Of what nothing is known.
inline constexpr int64_t kEndless = int64_t(1) << 60;

/// The numbers that the sizes of one import depend on.
class DataSizes {
public:
  bool empty() const { return numbers.empty(); }

  /// The size that `value`, an i64 scalar, tells.
  Size add(mlir::Value value, SizeRange range);
  SizeRange rangeOf(const Size &size) const;
  int64_t mostOf(const Size &size) const { return rangeOf(size).most; }
  /// A size as a scalar of type i64, the same value whenever it is asked for.
  mlir::Value valueOf(Node &node, const Size &size);

  /// What is known of the elements of an integer tensor that is computed from
  /// sizes or is a constant.
  std::optional<DataShape> elementsOf(mlir::Value value) const;
  /// The same of any integer tensor of up to `kMostElements`, of whose elements
  /// nothing may be known.
  std::optional<DataShape> anyElementsOf(Node &node, mlir::Value value);
  /// Follows an operator on small integer tensors, whose results may turn out
  /// to be known.
  void follow(Node &node, mlir::Operation *op);

  static constexpr int64_t kMostElements = 64;

  static Size plus(const Size &a, const Size &b);
  static Size times(const Size &a, int64_t factor);
  Size times(Node &node, const Size &a, const Size &b);
  Size least(Node &node, const Size &a, const Size &b);
  Size largest(Node &node, const Size &a, const Size &b);
  /// a / divisor of numbers that are not negative, rounded down; the divisor
  /// is positive.
  Size quotient(Node &node, const Size &a, int64_t divisor);
  /// a where `condition`, a truth value, holds, else b.
  Size choose(Node &node, mlir::Value condition, const Size &a, const Size &b);

  /// For the keys of tables.
  std::string text(const Size &size) const;

private:
  struct Number {
    mlir::Value value;
    SizeRange range;
  };
  Size derive(std::string key, SizeRange range,
              llvm::function_ref<mlir::Value()> build);
  std::optional<DataShape> evaluate(Node &node, mlir::Operation *op);
  std::optional<Size> combine(Node &node, mlir::Operation *op, const Size &a,
                              const Size &b);

  llvm::SmallVector<Number> numbers;
  llvm::StringMap<Size> derived;
  llvm::StringMap<mlir::Value> values;
  llvm::DenseMap<mlir::Value, DataShape> elements;
};

/// The sizes that the type of a tensor has room for.
DataShape staticShape(mlir::Type type);
/// Whether none depends on the data.
bool isStatic(llvm::ArrayRef<Size> shape);

/// A value without the marks of what counts.
mlir::Value unmarked(mlir::Value value);
/// Whether the data decide about some size of it.
bool isMarked(mlir::Value value);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_DATASHAPE_H
