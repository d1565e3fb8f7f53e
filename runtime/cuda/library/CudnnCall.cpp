//===- CudnnCall.cpp - Calls of a graph that cuDNN fuses ------------------===//

#include "runtime/cuda/library/CudnnCall.h"

using namespace frit;
using namespace frit::cuda;

CudnnCall::CudnnCall(const Cudnn &dnn, DnnHandle handle, CudnnGraph &graph,
                     uint32_t algorithm, uint64_t workspaceBytes)
    : dnn(dnn), handle(handle), graph(graph), workspaceBytes(workspaceBytes) {
  for (int64_t i = 0; i < graph.engineCount; ++i)
    if (graph.engines[i].number == algorithm)
      first = i;
}

bool CudnnCall::findPlan() {
  while (chosen < graph.engineCount &&
         !graph.prepare(engine(chosen), workspaceBytes))
    ++chosen;
  return chosen < graph.engineCount;
}

std::vector<uint32_t> CudnnCall::algorithms() const {
  std::vector<uint32_t> numbers(size_t(graph.engineCount));
  for (int64_t i = 0; i < graph.engineCount; ++i)
    numbers[size_t(i)] = engine(i).number;
  return numbers;
}

bool CudnnCall::run(Stream stream, void *const *pointers, void *workspace) {
  return !dnn.setStream(handle, stream) &&
         graph.run(used(), pointers, workspace);
}

std::string CudnnCall::nameOf(const std::string &what) const {
  return "cuDNN " + versionText(dnn.version) + " " + what;
}
