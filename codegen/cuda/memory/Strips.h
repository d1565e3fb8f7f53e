//===- Strips.h - Outputs one below the other -----------------------------===//
//
// Reductions over few elements, as pooling has them, whose windows overlap
// along a dimension that is not the innermost: a thread has a vector of several
// outputs along it, a strip, written out step by step. What a window combines
// of one row is a part; it is worked out once for all windows that have the row
// in them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
#define FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H

#include "codegen/cuda/target/Emit.h"

namespace frit::cuda {

class Strips {
public:
  /// Strips of `length` along dimension `dim`, by vectors of `vector`.
  Strips(const LinalgFusion &lowered, unsigned dim, int64_t length,
         int64_t vector);

  /// Whether windows share parts, and vectors read them.
  bool pays() const;
  /// Parts of a window, and of a strip.
  int64_t windowParts() const { return partsUpTo.front(); }
  int64_t stripParts() const { return partsUpTo.back(); }
  /// Strips along the dimension.
  int64_t strips() const { return ceilDiv(size, length); }
  /// First elements of all strips.
  int64_t count() const { return outer * strips() * inner; }
  /// Whether a block has parts of pixels.
  bool isSplit = false;
  /// `operator()` of a body that handles the strips of the elements from `i`
  /// on.
  std::string print();

private:
  std::string printPlace() const;
  llvm::StringRef start() const { return isSplit ? "at" : "i"; }
  void printPart(Printer &printer, size_t number);
  void printOutputs(Printer &printer, int64_t step);
  /// Of an output's step.
  mlir::AffineExpr place(int64_t step);

  const LinalgFusion &lowered;
  int64_t length, outer = 1, size, inner = 1;
  /// Elements of the innermost dimension, and those of a line.
  int64_t channels, piece;
  Graph graph;
  /// An element of a strip's first row of all rows there could be, and which
  /// row that is.
  mlir::AffineExpr index, first;
  /// Of all outputs, step by step.
  llvm::SmallVector<Node *> roots;
  /// Parts of the steps up to each, including it.
  llvm::SmallVector<int64_t> partsUpTo;
};

/// A schedule with strips as long as saves most, or null where they save
/// nothing, or leave too few threads.
nn::ScheduleAttr scheduleStrips(const LinalgFusion &lowered, int64_t vector);
llvm::FailureOr<KernelText> emitStrips(const LinalgFusion &lowered,
                                       llvm::StringRef name,
                                       nn::ScheduleAttr schedule,
                                       std::string &failure);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
