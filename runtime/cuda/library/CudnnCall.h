//===- CudnnCall.h - Calls of a graph that cuDNN fuses --------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNNCALL_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNNCALL_H

#include "runtime/cuda/library/Cudnn.h"
#include "runtime/cuda/library/CudnnGraph.h"

namespace frit::cuda {

/// A call of one graph: its engines in order of preference, and the one in use.
/// The graph is shared by all calls of a problem and must outlive them.
class CudnnCall : public LibraryCall {
public:
  /// Prefers the engine with number `algorithm`, if the graph has it.
  /// `workspaceBytes` is the maximum workspace of an engine.
  CudnnCall(const Cudnn &dnn, DnnHandle handle, CudnnGraph &graph,
            uint32_t algorithm, uint64_t workspaceBytes);

  bool nextAlgorithm() override {
    ++chosen;
    return findPlan();
  }
  std::vector<uint32_t> algorithms() const override;

  /// Advances to the next engine that has a plan, starting with the current
  /// one. False if there is none.
  bool findPlan();

protected:
  /// Runs the graph by the engine in use.
  bool run(Stream stream, void *const *pointers, void *workspace);

  const CudnnGraph::Engine &used() const { return engine(chosen); }

  /// Returns the call's name: "cuDNN 9.14 WHAT".
  std::string nameOf(const std::string &what) const;

  const Cudnn &dnn;
  DnnHandle handle;

private:
  /// Returns engine `turn` in order of preference.
  CudnnGraph::Engine &engine(int64_t turn) const {
    int64_t index = turn == 0 ? first : turn <= first ? turn - 1 : turn;
    return graph.engines[index];
  }

  CudnnGraph &graph;
  uint64_t workspaceBytes;
  int64_t first = 0, chosen = 0;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNNCALL_H
