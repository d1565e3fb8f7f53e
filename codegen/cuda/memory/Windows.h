//===- Windows.h - Windows of neighbouring outputs ------------------------===//
//
// Reductions over few elements, such as pooling, along an image's rows. A
// thread computes several neighbouring outputs and unrolls their reductions.
// They read a contiguous run of each input row: each element is loaded once for
// all outputs that use it, mostly by vector loads.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
#define FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H

#include "codegen/cuda/memory/Map.h"

namespace frit::cuda {

class Windows {
public:
  /// Makes windows for threads that compute `width` neighbours of `outputs`,
  /// which have `count` elements each.
  Windows(const LinalgFusion &lowered, llvm::ArrayRef<unsigned> outputs,
          int64_t count, int64_t width);

  /// Returns whether all reductions unroll.
  bool fits() const { return unrolls; }
  /// Returns whether sharing and vectors at least halve the load instructions.
  bool pays() const;
  /// Returns the bytes of the longest vector.
  int64_t widest() const;
  /// Prints `operator()` of a body, which computes `width` outputs from `i` on.
  std::string print(llvm::StringRef indexType);

private:
  struct Run {
    int64_t bytes;
    llvm::SmallVector<Node *, 8> loads;
  };

  void findRuns();

  const LinalgFusion &lowered;
  llvm::SmallVector<unsigned> outputs;
  int64_t width;
  Graph graph;
  mlir::AffineExpr group;
  /// `width` elements of each output, output by output.
  llvm::SmallVector<Node *> roots;
  llvm::SmallVector<Run> runs;
  int64_t loads = 0, scalarLoads = 0;
  bool unrolls = false;
};

/// Returns windows of `width` outputs per thread for a group, or null if the
/// skeleton cannot compute them.
std::unique_ptr<Windows> makeWindows(const LinalgFusion &lowered,
                                     const OutputGroup &group, int64_t width);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_WINDOWS_H
