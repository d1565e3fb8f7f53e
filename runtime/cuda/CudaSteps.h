//===- CudaSteps.h - A list of steps bound to device memory ---------------===//

#ifndef FRIT_CUDA_CUDASTEPS_H
#define FRIT_CUDA_CUDASTEPS_H

#include "runtime/cuda/CudaExecutor.h"
#include "runtime/cuda/TensorMaps.h"

namespace frit::cuda {

/// The alignment in bytes that each argument of a step surely has.
std::vector<uint32_t> alignmentsOf(const PlanView &plan,
                                   const artifact::Step &step);

/// Whether a step is one that cuDNN computes, where it is there.
inline bool isForCudnn(const artifact::Step &step) {
  return step.kind == artifact::StepKind::conv ||
         step.kind == artifact::StepKind::attention;
}

/// A graph of steps, ready to be launched.
class StepGraph {
public:
  explicit StepGraph(const Driver &driver) : driver(driver) {}
  StepGraph(const StepGraph &) = delete;
  ~StepGraph();

  GraphExec exec = nullptr;

private:
  friend class CudaSteps;

  const Driver &driver;
  Graph graph = nullptr; ///< kept, for it owns the nodes
  /// Of each step; null where it is captured or in a conditional node.
  std::vector<GraphNode> kernels;
};

/// Steps whose arguments are resolved to device addresses once; those in inputs
/// and outputs are filled in by bind, which has to be called before any step
/// runs.
class CudaSteps {
public:
  /// `arena` is the address of the arena that the steps were planned for.
  CudaSteps(CudaExecutor &executor, std::span<const artifact::Step> steps,
            DevicePointer arena);

  Status bind(std::span<const DevicePointer> inputs,
              std::span<const DevicePointer> outputs);

  /// Makes the library calls and lets each pick an algorithm. With `tryOut`,
  /// they run once over whatever the memory holds, so that a library has loaded
  /// what it needs, and declined what it cannot do, before a graph is captured.
  Status openLibraries(Stream stream, bool tryOut);

  /// Puts a step on a stream.
  Status enqueue(size_t index, Stream stream);

  /// Steps over `index`, which has been put on the stream: behind what it
  /// guards where that is not needed, for which a guard's condition is waited
  /// for.
  Status next(size_t &index, Stream stream);
  bool hasGuards() const;

  /// Makes a graph of all steps, each behind those that it follows; `marks`,
  /// where not empty, has an event to record before each step, which then come
  /// one after another, and one after the last. Fails when a library call
  /// cannot be captured.
  Status makeGraph(Stream stream, std::span<const Event> marks,
                   std::unique_ptr<StepGraph> &result);

  /// Gives a graph that makeGraph made the addresses that are bound now. False
  /// where it has to be made anew, because a library or a copy uses one.
  bool update(StepGraph &graph);

  size_t size() const { return steps.size(); }
  std::string pick(size_t index) const;
  bool isLibrary(size_t index) const { return calls[index] != nullptr; }

private:
  /// An argument that lies in an input or output.
  struct Patch {
    size_t argument;
    uint64_t offset;
    uint32_t index;
    bool output;
    size_t step;
  };

  /// A tensor map of a step's kernel. Where its argument is bound, it has to be
  /// encoded for every new address.
  struct MapUse {
    const artifact::TensorMap *map;
    size_t step;
    size_t argument;
    bool bound;
  };

  /// Nodes of a graph that is being made, for the next to come behind.
  struct Tail {
    std::vector<GraphNode> nodes;
    std::vector<GraphNode> own; ///< kernels of ours

    /// Lets the next node come behind the end of all.
    void join();
  };

  void resolveArguments(size_t index, DevicePointer arena);
  void listTensorMaps(size_t index);
  std::span<const DevicePointer> argumentsOf(size_t index) const {
    return std::span(arguments).subspan(firstArgument[index],
                                        steps[index].arguments.count);
  }
  std::unique_ptr<LibraryCall> prepareCall(const artifact::Step &step);
  Status launch(size_t index, Stream stream);
  /// Whether a graph has the step as an explicit kernel.
  bool isKernel(size_t index) const;
  KernelNodeParams nodeOf(size_t index, std::vector<void *> &params);
  Status addSteps(StepGraph &to, Graph graph, size_t first, size_t last,
                  Stream stream, std::span<const Event> marks);
  Status addGuard(StepGraph &to, Graph graph, size_t index, Stream stream,
                  Tail &tail);
  Tail tailOf(const artifact::Step &step, const std::vector<Tail> &ends,
              std::vector<size_t> &open) const;
  Status addKernel(StepGraph &to, Graph graph, size_t index, Tail &tail);
  Status addCaptured(Graph graph, size_t index, Stream stream, Tail &tail);
  void collectParams(size_t index, std::vector<void *> &params);

  CudaExecutor &executor;
  const Driver &driver;
  const PlanView &plan;
  std::span<const artifact::Step> steps;
  std::vector<DevicePointer> arguments; ///< of all steps, one after another
  std::vector<size_t> firstArgument;
  std::vector<Patch> patches;
  std::vector<MapUse> mapUses; ///< of all steps, one after another
  std::vector<EncodedMap> maps;
  std::vector<size_t> firstMap;
  bool encoded = false;
  bool conditional; ///< whether graphs have conditional nodes
  std::unique_ptr<CudnnHandle> cudnn;
  std::vector<std::unique_ptr<LibraryCall>> calls; ///< null: a kernel or copy
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDASTEPS_H
