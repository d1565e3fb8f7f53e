//===- Windows.h - Neighbouring outputs that share what they read ---------===//
//
// Reductions over few elements, such as pooling, along an image's rows. A
// thread has several neighbouring outputs, whose reductions are unrolled. What
// they read of a row is a run of neighbours: each element is loaded once
// however many outputs use it, and most of them by vectors.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
#define FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H

#include "codegen/cuda/memory/Map.h"

namespace frit::cuda {

class Windows {
public:
  /// For threads with `width` neighbours of `outputs`, which have `count`
  /// elements each.
  Windows(const LinalgFusion &lowered, llvm::ArrayRef<unsigned> outputs,
          int64_t count, int64_t width);

  /// Whether vectors do most of the loads.
  bool pays() const;
  /// Bytes of the longest vector.
  int64_t widest() const;
  /// Prints `operator()` of a body, which computes the outputs from `i` on.
  std::string print(llvm::StringRef indexType);

private:
  struct Run {
    int64_t bytes;
    llvm::SmallVector<Node *, 8> loads;
  };

  void findRuns();

  const LinalgFusion &lowered;
  llvm::ArrayRef<unsigned> outputs;
  int64_t width;
  Graph graph;
  mlir::AffineExpr group;
  /// Output by output, `width` of each.
  llvm::SmallVector<Node *> roots;
  llvm::SmallVector<Run> runs;
  int64_t loads = 0, readAlone = 0;
  bool fits = false;
};

/// The windows of a group whose threads have `width` neighbours of an image's
/// row each; null where they save nothing.
std::unique_ptr<Windows> makeWindows(const LinalgFusion &lowered,
                                     const OutputGroup &group, int64_t width);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
