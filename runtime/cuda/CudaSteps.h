//===- CudaSteps.h - A list of steps bound to device memory ---------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDASTEPS_H
#define FRIT_RUNTIME_CUDA_CUDASTEPS_H

#include "runtime/cuda/DeviceState.h"
#include "runtime/cuda/LoadedTarget.h"
#include "runtime/cuda/TensorMaps.h"
#include "runtime/cuda/library/Nccl.h"

namespace frit::cuda {

/// Returns the guaranteed alignment in bytes of each argument of a step.
std::vector<uint32_t> alignmentsOf(const PlanView &plan,
                                   const artifact::Step &step);

/// An instantiated graph of steps.
class StepGraph {
public:
  explicit StepGraph(const Driver &driver) : driver(driver) {}
  StepGraph(const StepGraph &) = delete;
  ~StepGraph();

  GraphExec exec = nullptr;

private:
  friend class CudaSteps;

  const Driver &driver;
  Graph graph = nullptr; ///< kept because it owns the nodes
  /// The stream whose capture is the graph, during construction; null if
  /// library calls are captured one by one.
  Stream capture = nullptr;
  /// Whether the capture was ended by other work in the process.
  bool invalidated = false;
  std::vector<GraphNode> ends; ///< nodes without successors so far
  /// Node of each step; null if it was captured or lies in a conditional node.
  std::vector<GraphNode> kernels;
};

/// Steps whose arguments are resolved to device addresses. Call `bind` for the
/// addresses of inputs and outputs before any step runs.
class CudaSteps {
public:
  /// Resolves the arguments of steps. `arena` is the base address of their
  /// offsets. `state` is null for steps without state.
  CudaSteps(LoadedTarget &loaded, std::span<const artifact::Step> steps,
            DevicePointer arena, const DeviceState *state);

  Status bind(std::span<const DevicePointer> inputs,
              std::span<const DevicePointer> outputs);

  /// Creates the library calls; each picks an algorithm. With `tryOut` each
  /// also runs once, on the memory's present contents, without changing the
  /// state. So the library loads its kernels, and declines those it cannot run,
  /// before a graph is captured.
  Status openLibraries(Stream stream, bool tryOut);

  /// Sets the group for collectives, from the next graph on. Runs each
  /// collective once, on the arena's present contents, so that the library
  /// connects the ranks and loads its kernels before a graph is captured.
  Status join(std::shared_ptr<Communicator> group, Stream stream);

  /// Enqueues a step on a stream.
  Status enqueue(size_t index, Stream stream);

  /// Advances `index` past an enqueued step. If that is a guard, waits for its
  /// condition and skips the guarded steps if the condition is false.
  Status next(size_t &index, Stream stream);
  bool hasGuards() const;

  /// Returns whether a step writes state.
  bool writeState() const;

  /// Creates a graph of all steps with their dependencies. `marks`, if not
  /// empty, has an event to record before each step and one after the last;
  /// steps then run one after another. Fails if a library call cannot be
  /// captured.
  Status makeGraph(Stream stream, std::span<const Event> marks,
                   std::unique_ptr<StepGraph> &result);

  /// Returns whether only frit's own kernels use inputs and outputs: the
  /// addresses of a library call or a copy cannot be updated.
  bool canUpdate(const StepGraph &graph) const;

  /// Updates a graph of makeGraph to the bound addresses. Returns false if it
  /// must be created anew.
  bool update(StepGraph &graph);

  size_t size() const { return steps.size(); }
  /// Returns the addresses of a step's arguments.
  std::span<const DevicePointer> argumentsOf(size_t index) const {
    return std::span(arguments).subspan(firstArgument[index],
                                        steps[index].arguments.count);
  }
  std::string pick(size_t index) const;
  bool isLibrary(size_t index) const { return calls[index] != nullptr; }

private:
  /// An argument in an input or output, `offset` bytes from its start.
  struct Patch {
    size_t argument;
    uint64_t offset;
    uint32_t index;
    bool output;
    size_t step;
  };

  /// A tensor map of a step's kernel. If its argument is an input or output, it
  /// is encoded again for every new address.
  struct MapUse {
    const artifact::TensorMap *map;
    size_t step;
    size_t argument;
    bool bound;
  };

  /// Predecessors of the next node of a graph under construction.
  struct Tail {
    std::vector<GraphNode> nodes;
    std::vector<GraphNode> own; ///< our kernels, which allow PDL edges

    void add(const Tail &other);
    /// Makes the next node wait for all to end, without PDL.
    void join();
  };

  /// The steps [first, last).
  struct StepRange {
    size_t first, last;
  };

  void resolveArguments(size_t index, DevicePointer arena,
                        const DeviceState *state);
  Status exchange(const artifact::Step &step, DevicePointer data,
                  Stream stream) const;
  /// Enqueue a step, and say in reports what runs it.
#define RUNNER(Name)                                                           \
  Status enqueue##Name(size_t index, Stream stream);                           \
  std::string pick##Name(size_t index) const;
  FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  void listTensorMaps(size_t index);
  std::unique_ptr<LibraryCall> prepareCall(const artifact::Step &step);
  Status launch(size_t index, Stream stream);
  /// Returns whether the step is a collective and there are other ranks.
  bool isCollective(size_t index) const;
  /// Returns whether the step becomes a kernel node of a graph.
  bool isKernel(size_t index) const;
  KernelNodeParams nodeOf(size_t index, std::vector<void *> &params);
  /// Adds the steps of `range` with their edges. `ends` has the last nodes of
  /// each step so far; `end` gets those of the steps that none follows.
  Status addSteps(StepGraph &to, Graph graph, StepRange range, Stream stream,
                  std::vector<Tail> &ends, Tail &end);
  Status addMarked(StepGraph &to, Stream stream, std::span<const Event> marks,
                   Tail &tail);
  /// Adds a step that is no guard after the nodes of `tail`, which becomes its
  /// own last nodes.
  Status addStep(StepGraph &to, Graph graph, size_t index, Stream stream,
                 Tail &tail);
  /// Adds a guard after the nodes of its `ends`, and its steps. Its `ends`
  /// become the last nodes of all of them.
  Status addGuard(StepGraph &to, Graph graph, size_t index, Stream stream,
                  std::vector<Tail> &ends);
  Status addKernel(StepGraph &to, Graph graph, size_t index, Tail &tail);
  Status fillGraph(StepGraph &made, Stream stream,
                   std::span<const Event> marks);
  Status beginGraph(StepGraph &made);
  Status endGraph(StepGraph &made);
  Status lastCaptured(Stream stream, Graph *graph,
                      std::vector<GraphNode> &last) const;
  Status addWithin(StepGraph &to, size_t index, Tail &tail);
  Status addCaptured(StepGraph &to, Graph graph, size_t index, Stream stream,
                     Tail &tail);
  void collectParams(size_t index, std::vector<void *> &params);

  LoadedTarget &loaded;
  const Driver &driver;
  const PlanView &plan;
  std::span<const artifact::Step> steps;
  std::vector<DevicePointer> arguments; ///< of all steps, one after another
  std::vector<size_t> firstArgument;
  std::vector<Patch> patches;
  std::vector<MapUse> mapUses; ///< of all steps, one after another
  std::vector<EncodedMap> maps;
  std::vector<size_t> firstMap;
  /// Elements of each step's shard; 0 if the step is no launch of a shard.
  std::vector<int64_t> shardCounts;
  bool encoded = false;
  bool conditional; ///< whether graphs have conditional nodes
  /// Whether a guarded step must be skipped because it writes state.
  bool mustSkip = false;
  std::unique_ptr<CudnnHandle> cudnn;
  std::vector<std::unique_ptr<LibraryCall>> calls; ///< null: a kernel or copy
  std::shared_ptr<Communicator> group;             ///< null: one rank
  /// Graphs whose captures were invalidated. They are destroyed later: the
  /// driver crashed if one was destroyed while another thread continued the
  /// work that had ended its capture.
  std::vector<std::unique_ptr<StepGraph>> invalidGraphs;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDASTEPS_H
