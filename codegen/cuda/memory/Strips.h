//===- Strips.h - Strips of vertically adjacent outputs -------------------===//
//
// Reductions over few elements, such as pooling, whose windows overlap along a
// dimension that is not the innermost. A thread computes a strip: several
// output vectors along that dimension, unrolled. A part is the partial result
// of a window over one input row; it is computed once and shared by all windows
// that contain the row.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
#define FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H

#include "codegen/cuda/memory/Map.h"

namespace frit::cuda {

class Strips {
public:
  /// Makes strips of `length` outputs along dimension `dim`, in vectors of
  /// `vector` elements.
  Strips(const LinalgFusion &lowered, unsigned dim, int64_t length,
         int64_t vector);

  /// Returns whether the skeleton can compute them: as vectors, unrolled, with
  /// indices of 32 bits.
  bool fits() const;
  /// Returns whether windows share parts.
  bool pays() const;
  /// Return the parts per window, and per strip.
  int64_t windowParts() const { return partsUpTo.front(); }
  int64_t stripParts() const { return partsUpTo.back(); }
  /// Returns the number of strips along the dimension.
  int64_t strips() const { return ceilDiv(size, length); }
  /// Returns the number of strips times elements: the index range of the
  /// kernel.
  int64_t count() const { return outer * strips() * inner; }
  /// Returns whether a block can cover one cache line of the channels of many
  /// pixels.
  bool canSplit() const;
  /// Prints `operator()` of a body, which computes the strips of the elements
  /// from `i` on. With `split`, a block covers one cache line of the channels
  /// of neighbouring pixels, whose windows overlap most; otherwise all channels
  /// of few pixels.
  std::string print(bool split);

private:
  /// Returns whether the outputs are maxima or minima of the bytes of vectors
  /// and nothing else, as a pool's are.
  bool findByteExtremes() const;
  std::string printPlace() const;
  void printArray(Printer &printer, llvm::StringRef name,
                  mlir::Type type) const;
  void printPart(Printer &printer, size_t number);
  void printOutputs(Printer &printer, int64_t step, llvm::StringRef start);
  /// Returns the index of a thread's output in step `step`.
  mlir::AffineExpr place(int64_t step);

  const LinalgFusion &lowered;
  int64_t length, vector, outer = 1, size, inner = 1;
  /// Elements of the innermost dimension, and elements per cache line.
  int64_t channels, piece;
  Graph graph;
  /// Index of a thread's element, and the row at which its strip begins.
  mlir::AffineExpr index, first;
  /// The outputs of all steps, in order.
  llvm::SmallVector<Node *> roots;
  bool areByteExtremes;
  /// Number of distinct parts used by steps 0 to i.
  llvm::SmallVector<int64_t> partsUpTo;
};

/// Returns the strips that save the most work, or null if they save nothing or
/// leave too few threads.
StripsAttr chooseStrips(Problem &problem, int64_t vector,
                        const Machine &machine);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_STRIPS_H
