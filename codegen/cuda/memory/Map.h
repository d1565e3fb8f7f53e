//===- Map.h - One thread per vector of output elements -------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_MAP_H
#define FRIT_CODEGEN_CUDA_MEMORY_MAP_H

#include "codegen/cuda/memory/MemorySkeleton.h"

namespace frit::cuda {

/// Outputs of the same number of elements, which share a body.
struct OutputGroup {
  int64_t count;
  llvm::SmallVector<unsigned> outputs;
};
llvm::SmallVector<OutputGroup> groupOutputs(const LinalgFusion &lowered);

/// The outputs of a group, each at the element that a thread begins with.
/// A thread has `vector` neighbours of it or, where `interleave` is above 1,
/// as many elements that are a block's threads apart.
llvm::SmallVector<Node *> buildRoots(Graph &graph, const LinalgFusion &lowered,
                                     const OutputGroup &group, int64_t vector,
                                     int64_t interleave = 1);

/// Which of the skeletons without a team of threads runs a fusion:
/// #cuda.strips, #cuda.windows, #cuda.map or, for anything, #cuda.generic.
nn::Match<nn::Schedule> chooseMap(Problem &problem, const Machine &machine);
template <class Attr> using MapFamily = MemorySkeleton<Attr, chooseMap>;

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_MAP_H
