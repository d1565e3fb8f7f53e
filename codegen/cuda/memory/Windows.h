//===- Windows.h - Neighbouring outputs that share what they read ---------===//
//
// Reductions over few elements, as pooling has them, with neighbours along an
// image's rows: a thread has several outputs, written out step by step. What
// they read of a row is then a run of neighbours, each in one node however many
// outputs want it, and most of it is read by vectors.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
#define FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H

#include "codegen/cuda/target/Emit.h"

namespace frit::cuda {

class Windows {
public:
  /// Of `width` neighbouring elements of `outputs`, which have `count` each.
  Windows(const LinalgFusion &lowered, llvm::ArrayRef<unsigned> outputs,
          int64_t count, int64_t width);

  /// Whether vectors read most of what is read.
  bool pays() const;
  /// Bytes of the longest vector.
  int64_t widest() const;
  /// `operator()` of a body that handles the outputs from `i` on.
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

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
