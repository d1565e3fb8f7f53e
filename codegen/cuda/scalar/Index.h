//===- Index.h - Index arithmetic of emitted kernels ----------------------===//
//
// Indices are affine expressions over dimensions with known ranges: the
// kernel's index variables, loop counters, and symbols for values that the
// kernel computes. The ranges remove most divisions that reshapes and
// broadcasts introduce:
//
//   (i / 64) % 12 * 64 + i % 64   ==>   i % 768
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_INDEX_H
#define FRIT_CODEGEN_CUDA_SCALAR_INDEX_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

#include <string>

namespace frit::cuda {

/// Range of an index, both ends included.
struct Bounds {
  int64_t low, high;

  bool isWithin(int64_t from, int64_t to) const {
    return low >= from && high <= to;
  }
};

/// How an index varies over the lanes of a vector.
enum class LaneUse { uniform, contiguous, scattered };

struct LanePattern {
  LaneUse use = LaneUse::uniform;
  /// The index in terms of Lanes::group and Lanes::place; null if it uses
  /// neither.
  mlir::AffineExpr index;
};

/// An index variable that is vectorized by `width`: lane = width · group +
/// place. If group and place are null, the lanes' values are arbitrary.
struct Lanes {
  mlir::AffineExpr lane, group, place;
  int64_t width = 1;
  /// Rows may begin inside a vector, since vectors are aligned to the tensor.
  /// Other terms of an index then need not be multiples of the width.
  bool skewed = false;
};

/// C++ text of an index and its operator precedence (see Scalars.h).
struct IndexText {
  std::string text;
  int precedence;
};

class IndexSpace {
public:
  explicit IndexSpace(mlir::MLIRContext *context) : context(context) {}

  /// Adds a variable with values in [0, size).
  mlir::AffineExpr addDim(int64_t size);
  mlir::AffineExpr addSymbol(Bounds range);
  mlir::AffineExpr constant(int64_t value);

  mlir::AffineExpr add(mlir::AffineExpr x, mlir::AffineExpr y);
  mlir::AffineExpr mul(mlir::AffineExpr x, int64_t factor);
  /// Rounds down; the divisor is positive.
  mlir::AffineExpr floorDiv(mlir::AffineExpr x, int64_t divisor);
  mlir::AffineExpr mod(mlir::AffineExpr x, int64_t divisor);
  /// Rebuilds and simplifies an expression; replaces its dims by `indices` if
  /// given.
  mlir::AffineExpr simplify(mlir::AffineExpr x,
                            llvm::ArrayRef<mlir::AffineExpr> indices = {});

  Bounds range(mlir::AffineExpr x) const;

  /// Convert between indices and the row-major offset in a shape.
  mlir::AffineExpr linearize(llvm::ArrayRef<mlir::AffineExpr> indices,
                             llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::AffineExpr>
  delinearize(mlir::AffineExpr flat, llvm::ArrayRef<int64_t> shape);

  Lanes addLanes(mlir::AffineExpr lane, int64_t width);
  /// Returns how `x` varies over the lanes of a group. `isUniformSymbol` says
  /// whether a symbol is the same for all of them.
  LanePattern lanePattern(mlir::AffineExpr x, const Lanes &lanes,
                          llvm::function_ref<bool(unsigned)> isUniformSymbol);

  /// Return whether `x` or one of its subexpressions needs 64 bits, or a sign.
  bool isWide(mlir::AffineExpr x) const;
  bool isSigned(mlir::AffineExpr x) const;

  /// Prints `x` as C++. `leaf` prints dims and symbols, converted to the width
  /// and signedness that it is given.
  IndexText print(mlir::AffineExpr x,
                  llvm::function_ref<IndexText(mlir::AffineExpr leaf, bool wide,
                                               bool isSigned)>
                      leaf) const;

private:
  struct Sum {
    llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> terms;
    int64_t constant = 0;
  };
  Sum decompose(mlir::AffineExpr x);
  void accumulate(Sum &sum, mlir::AffineExpr x, int64_t factor);
  mlir::AffineExpr build(Sum sum);
  bool recombine(Sum &sum);
  /// Splits `sum` into multiples of `divisor`, divided by it, and the rest.
  std::pair<Sum, Sum> split(const Sum &sum, int64_t divisor);
  /// Finds a divisor g of `divisor` such that sum = g · quotient + rest with
  /// rest in [0, g). Returns 0 if there is none.
  int64_t commonStep(const Sum &sum, int64_t divisor, Sum &quotient,
                     mlir::AffineExpr &rest);

  mlir::MLIRContext *context;
  llvm::SmallVector<Bounds> dims, symbols;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_INDEX_H
