//===- DataShape.h - Data-dependent shapes --------------------------------===//
//
// A tensor whose size depends on the data (that of NonZero, for example) gets
// the static shape of its upper bound. nn.counted marks the dimensions of which
// only the first entries are valid:
//
//   %i = nn.counted %all, %n {axis = 0} : tensor<100xi64>
//
// The valid length is a Size: a constant, or a sum of multiples of numbers that
// the model computes. Values that models compute from sizes (Shape, Gather,
// Min, …) are tracked as Sizes as well, so that a Reshape, TopK or Slice knows
// the size of each dimension of its result, and its upper bound. Equal Sizes
// are one value of the model, so that tensors of equal size are known to match.
//
// Every operator propagates the marks (Propagate.cpp); no target sees them.
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

/// Returns the elements of a small constant, or of a value that is computed of
/// constants and was not folded, as places are. Null for others.
mlir::DenseElementsAttr knownElements(mlir::Value value);

/// constant + sum of factor · number, numbers ascending.
struct Size {
  struct Term {
    unsigned number; ///< index into DataSizes
    int64_t factor;
    bool operator==(const Term &) const = default;
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 1> terms = {};

  Size(int64_t constant = 0) : constant(constant) {}
  bool isKnown() const { return terms.empty(); }
  bool operator==(const Size &) const = default;
};

/// The sizes of a tensor, or the elements of a small tensor that is computed
/// from sizes.
using DataShape = llvm::SmallVector<Size, 4>;

/// Inclusive range of an integer.
struct SizeRange {
  int64_t least, most;
};

/// Bound of an unknown number.
inline constexpr int64_t kEndless = int64_t(1) << 60;

/// Returns the product, saturated at ±kEndless.
int64_t boundedProduct(int64_t a, int64_t b);

/// The numbers on which sizes of one import depend.
class DataSizes {
public:
  bool empty() const { return numbers.empty(); }

  /// Returns the Size whose value is `value`, an i64 scalar.
  Size add(mlir::Value value, SizeRange range);
  SizeRange rangeOf(const Size &size) const;
  int64_t mostOf(const Size &size) const { return rangeOf(size).most; }
  /// Returns a size as an i64 scalar; the same value for equal sizes.
  mlir::Value valueOf(Node &node, const Size &size);

  /// Returns the elements of an integer tensor that is constant or computed
  /// from sizes.
  std::optional<DataShape> elementsOf(mlir::Value value) const;
  /// As above for any integer tensor of up to `kMostElements`; unknown elements
  /// become new numbers.
  std::optional<DataShape> anyElementsOf(Node &node, mlir::Value value);
  /// Says what the elements of an integer tensor are.
  void know(mlir::Value value, DataShape sizes) {
    elements[value] = std::move(sizes);
  }
  /// Tracks an operator on small integer tensors; its results may become known.
  void follow(Node &node, mlir::Operation *op);

  static constexpr int64_t kMostElements = 64;

  static Size plus(const Size &a, const Size &b);
  static Size times(const Size &a, int64_t factor);
  Size times(Node &node, const Size &a, const Size &b);
  Size least(Node &node, const Size &a, const Size &b);
  Size largest(Node &node, const Size &a, const Size &b);
  /// Returns a / divisor, rounded down, for a >= 0 and divisor > 0.
  Size quotient(Node &node, const Size &a, int64_t divisor);
  /// Returns a if `condition`, an i1 scalar, holds, otherwise b.
  Size choose(Node &node, mlir::Value condition, const Size &a, const Size &b);

  /// Returns a text that identifies the size, as a key of tables.
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

/// Returns the static sizes of a tensor type, the upper bounds.
DataShape staticShape(mlir::Type type);
/// Returns whether no size depends on the data.
bool isStatic(llvm::ArrayRef<Size> shape);

/// Returns a value without its nn.counted marks.
mlir::Value unmarked(mlir::Value value);
/// Returns whether some size of a value depends on the data.
bool isMarked(mlir::Value value);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_DATASHAPE_H
