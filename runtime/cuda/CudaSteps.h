//===- CudaSteps.h - A list of steps bound to device memory ---------------===//

#ifndef FRIT_CUDA_CUDASTEPS_H
#define FRIT_CUDA_CUDASTEPS_H

#include "runtime/cuda/CudaExecutor.h"

namespace frit::cuda {

/// Steps whose arguments are resolved to device addresses once; those in inputs
/// and outputs are filled in by bind.
class CudaSteps {
public:
  /// `arena` is the address of the arena that the steps were planned for.
  CudaSteps(CudaExecutor &executor, std::span<const artifact::Step> steps,
            DevicePointer arena);

  void bind(std::span<const DevicePointer> inputs,
            std::span<const DevicePointer> outputs);

  /// Makes the library calls and lets each pick an algorithm. With `tryOut`,
  /// they run once over whatever the memory holds, so that a library has loaded
  /// what it needs, and declined what it cannot do, before a graph is captured.
  Status openLibraries(Stream stream, bool tryOut);

  /// Puts a step on a stream.
  Status enqueue(size_t index, Stream stream);

  /// Makes a graph of all steps in order; `marks`, where not empty, has an
  /// event to record before each step and one after the last. Fails when a
  /// library call cannot be captured.
  Status makeGraph(Stream stream, std::span<const Event> marks,
                   GraphExec &result);

  size_t size() const { return steps.size(); }
  std::string pick(size_t index) const;

private:
  /// An argument that lies in an input or output.
  struct Patch {
    size_t argument;
    uint64_t offset;
    uint32_t index;
    bool output;
  };

  std::span<const DevicePointer> argumentsOf(size_t index) const {
    return std::span(arguments).subspan(firstArgument[index],
                                        steps[index].arguments.count);
  }
  unsigned kernelArgumentCount(const artifact::Step &step) const;
  std::unique_ptr<LibraryCall> prepareCall(const artifact::Step &step);
  Status launch(size_t index, Stream stream);
  Status addSteps(Graph graph, Stream stream, std::span<const Event> marks);
  Status addKernel(Graph graph, size_t index, std::vector<GraphNode> &last);
  Status addCaptured(Graph graph, size_t index, Stream stream,
                     std::vector<GraphNode> &last);
  void collectParams(size_t index, std::vector<void *> &params);

  CudaExecutor &executor;
  const Driver &driver;
  const PlanView &plan;
  std::span<const artifact::Step> steps;
  std::vector<DevicePointer> arguments; ///< of all steps, one after another
  std::vector<size_t> firstArgument;
  std::vector<Patch> patches;
  std::unique_ptr<CudnnHandle> cudnn;
  std::vector<std::unique_ptr<LibraryCall>> calls; ///< null: a kernel or copy
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDASTEPS_H
