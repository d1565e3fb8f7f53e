//===- Map.h - One thread per vector of output elements -------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_MAP_H
#define FRIT_CODEGEN_CUDA_MEMORY_MAP_H

#include "codegen/cuda/memory/MemorySkeleton.h"

namespace frit::cuda {

/// Outputs with the same number of elements, which share a body.
struct OutputGroup {
  int64_t count;
  llvm::SmallVector<unsigned> outputs;
};
llvm::SmallVector<OutputGroup> groupOutputs(const LinalgFusion &lowered);

/// Returns whether kernels index this many elements by 64 bits: a 32-bit index
/// must not wrap when it steps past the end.
inline bool indexIsWide(int64_t elements) {
  return elements > int64_t(1) << 30;
}

/// Returns a group's outputs at a thread's first element. A thread computes
/// `vector` neighbouring elements or, if `interleave` is above 1, `interleave`
/// elements that are one block of threads apart.
llvm::SmallVector<Node *> buildRoots(Graph &graph, const LinalgFusion &lowered,
                                     const OutputGroup &group, int64_t vector,
                                     int64_t interleave = 1);

/// Chooses among the skeletons whose threads work independently: #cuda.strips,
/// #cuda.windows, #cuda.map, and #cuda.generic for everything else.
nn::Match<nn::Schedule> chooseMap(Problem &problem, const Machine &machine);
template <class Attr, class Kernel>
using MapFamily = MemorySkeleton<Attr, Kernel, chooseMap, /*milliseconds=*/5>;

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_MAP_H
