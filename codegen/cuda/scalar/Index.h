//===- Index.h - Index arithmetic of emitted kernels ----------------------===//
//
// Indices are affine expressions over dimensions whose ranges are known: the
// kernel's own index variables, loop counters, and symbols for values that are
// worked out when the kernel runs. Knowing the ranges, most divisions that
// reshapes and broadcasts bring along vanish:
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

/// The values an index takes, both ends included.
struct Bounds {
  int64_t low, high;

  bool isWithin(int64_t from, int64_t to) const {
    return low >= from && high <= to;
  }
};

/// How an index moves along the `V` lanes of a vector.
enum class LaneUse { uniform, contiguous, scattered };

struct LanePattern {
  LaneUse use = LaneUse::uniform;
  /// The index by `Lanes::group` and `Lanes::place`; null where it has neither.
  mlir::AffineExpr index;
};

/// An index variable taken `width` values at a time: `lane` is
/// width · group + place, or anything where these are null.
struct Lanes {
  mlir::AffineExpr lane, group, place;
  int64_t width = 1;
  /// Vectors begin where those of tensors do, and the lane anywhere in its
  /// first: an index may have factors that are no multiples of the width.
  bool skewed = false;
};

/// Text of an index and how tightly it binds in C++ (see Scalars.h).
struct IndexText {
  std::string text;
  int precedence;
};

class IndexSpace {
public:
  explicit IndexSpace(mlir::MLIRContext *context) : context(context) {}

  /// A new variable with values [0, size).
  mlir::AffineExpr addDim(int64_t size);
  mlir::AffineExpr addSymbol(Bounds range);
  mlir::AffineExpr constant(int64_t value);

  mlir::AffineExpr add(mlir::AffineExpr x, mlir::AffineExpr y);
  mlir::AffineExpr mul(mlir::AffineExpr x, int64_t factor);
  /// Rounds down; the divisor is positive.
  mlir::AffineExpr floorDiv(mlir::AffineExpr x, int64_t divisor);
  mlir::AffineExpr mod(mlir::AffineExpr x, int64_t divisor);
  /// Rebuilds an expression, with `indices` in the place of its dims if given.
  mlir::AffineExpr simplify(mlir::AffineExpr x,
                            llvm::ArrayRef<mlir::AffineExpr> indices = {});

  Bounds range(mlir::AffineExpr x) const;

  /// The place of an element among those of a row-major shape, and back.
  mlir::AffineExpr linearize(llvm::ArrayRef<mlir::AffineExpr> indices,
                             llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::AffineExpr>
  delinearize(mlir::AffineExpr flat, llvm::ArrayRef<int64_t> shape);

  Lanes addLanes(mlir::AffineExpr lane, int64_t width);
  /// What happens to `x` along the lanes of a group. `isUniform` answers for
  /// the symbols.
  LanePattern lanePattern(mlir::AffineExpr x, const Lanes &lanes,
                          llvm::function_ref<bool(unsigned)> isUniformSymbol);

  /// Whether values of `x`, or of a part of it, need 64 bits or a sign.
  bool isWide(mlir::AffineExpr x) const;
  bool isSigned(mlir::AffineExpr x) const;

  /// C++ text; `leaf` gives that of dims and symbols, both of which it makes
  /// as wide and as signed as asked.
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
  /// Parts of `sum` that are multiples of `divisor`, divided by it, and the
  /// rest.
  std::pair<Sum, Sum> split(const Sum &sum, int64_t divisor);
  /// Finds g dividing `divisor` so that sum = g · quotient + rest with rest in
  /// [0, g); 0 where there is none.
  int64_t commonStep(const Sum &sum, int64_t divisor, Sum &quotient,
                     mlir::AffineExpr &rest);

  mlir::MLIRContext *context;
  llvm::SmallVector<Bounds> dims, symbols;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_INDEX_H
