//===- Strips.h - Outputs one below the other -----------------------------===//
//
// Reductions over few elements, such as pooling, whose windows overlap along a
// dimension that is not the innermost. A thread computes a strip: a vector of
// several outputs along that dimension, unrolled. What a window combines of one
// row is a part, which is computed once for all windows that have the row in
// them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
#define FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H

#include "codegen/cuda/memory/Map.h"

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
  /// Whether a block can have one cache line of many pixels' channels.
  bool canSplit() const;
  /// Prints `operator()` of a body, which computes the strips of the elements
  /// from `i` on. With `split` threads of a block have one cache line of the
  /// channels of neighbouring pixels, which have most of their windows in
  /// common; else all channels of few pixels.
  std::string print(bool split);

private:
  std::string printPlace() const;
  void printPart(Printer &printer, size_t number);
  void printOutputs(Printer &printer, int64_t step, llvm::StringRef start);
  /// The place of an output's element in step `step`.
  mlir::AffineExpr place(int64_t step);

  const LinalgFusion &lowered;
  int64_t length, vector, outer = 1, size, inner = 1;
  /// Elements of the innermost dimension, and those of a cache line.
  int64_t channels, piece;
  Graph graph;
  /// An element of a strip's first row among all rows there could be, and the
  /// number of that row.
  mlir::AffineExpr index, first;
  /// All outputs, step by step.
  llvm::SmallVector<Node *> roots;
  /// Parts of the steps up to each, including it.
  llvm::SmallVector<int64_t> partsUpTo;
};

/// The strips that save most, or null where they save nothing or leave too few
/// threads.
StripsAttr chooseStrips(Problem &problem, int64_t vector,
                        const Machine &machine);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
