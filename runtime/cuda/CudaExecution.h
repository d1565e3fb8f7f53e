//===- CudaExecution.h - Run a plan on a GPU ------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDAEXECUTION_H
#define FRIT_RUNTIME_CUDA_CUDAEXECUTION_H

#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/SharedStream.h"

namespace frit::cuda {

/// Layout of a context's allocation: the arena, then its own inputs, then its
/// own outputs. The arena comes first, so that the plan's offsets are offsets
/// of the allocation. A part that a context uses of a peer has no bytes here.
struct ContextLayout {
  explicit ContextLayout(const Model &model);

  /// Offset of each input and output from the first.
  std::vector<uint64_t> inputs, outputs;
  uint64_t arenaBytes = 0, inputBytes = 0, outputBytes = 0;
};

/// A context's memory, stream and graphs. One allocation holds the arena and
/// the context's own inputs and outputs, sized for the largest variant; calls
/// follow each other on one stream, so all variants share it. Another holds the
/// state. A variant's library calls and graph are created when it first runs.
///
/// Peers have the same stream and state. A peer that needs no larger arena, or
/// no more room for inputs, uses that of the first context.
class CudaExecution final : public Execution {
public:
  CudaExecution(const Model &model, LoadedTarget &loaded)
      : model(model), loaded(loaded), gpu(loaded.gpu),
        driver(loaded.gpu.driver) {}
  ~CudaExecution() override;

  Status open(const CudaExecution *peer);
  Status run(size_t variant, std::span<const Binding> inputs,
             std::span<const Binding> outputs, bool wait) override;
  Status profile(size_t variant, std::span<const Binding> inputs,
                 std::span<const Binding> outputs,
                 std::vector<StepTime> &times) override;
  Status trace(size_t variant, std::span<const Binding> inputs,
               std::span<const Binding> outputs, bool operands,
               const Visit &visit) override;
  Status synchronize() override;
  Status join(const frit_group &group) override;
  Status readState(std::span<const StateBinding> tensors) override;
  Status writeState(std::span<const StateBinding> tensors) override;
  Status createFeed(std::unique_ptr<InputFeed> &feed) override;
  Status setStream(void *stream) override;
  void *stream() const override { return queue(); }
  void *inputBuffer(uint32_t index) override {
    return reinterpret_cast<void *>(ownInputs[index]);
  }
  void *outputBuffer(uint32_t index) override {
    return reinterpret_cast<void *>(ownOutputs[index]);
  }
  std::string pick(size_t variant, uint32_t step) const override {
    const Program &program = programs[variant];
    return program.steps ? program.steps->pick(step) : "none";
  }
  bool isLibrary(size_t variant, uint32_t step) const override {
    const Program &program = programs[variant];
    return program.steps && program.steps->isLibrary(step);
  }

private:
  /// A graph and the input and output addresses that it was created for.
  struct CachedGraph {
    std::vector<DevicePointer> addresses;
    std::unique_ptr<StepGraph> graph;
    uint64_t lastUse;
  };

  /// Execution state of a variant; `steps` is null until it first runs.
  struct Program {
    size_t variant = 0;
    std::unique_ptr<CudaSteps> steps;
    /// Input and output addresses that the steps are bound to if `bound`.
    std::vector<DevicePointer> inputs, outputs;
    bool bound = false;

    std::vector<CachedGraph> graphs;
    /// Addresses without a graph that recent calls wanted.
    std::vector<std::vector<DevicePointer>> recent;
    GraphExec current =
        nullptr; ///< for these addresses; null: not looked up yet
    bool useGraph = true;
    DerivedUse derived;
  };

  Status place(const CudaExecution *peer);
  Status makeState();
  Status open(size_t variant);
  Status bind(Program &program, std::span<const Binding> inputs,
              std::span<const Binding> outputs);
  Status begin(size_t variant, std::span<const Binding> inputs,
               std::span<const Binding> outputs);
  bool isWorthGraph(Program &program);
  Status launch(Program &program);
  Status launchSteps(Program &program);
  GraphExec findGraph(Program &program);

  // CudaProfile.cpp
  Status readArguments(const Program &program, size_t index, bool written,
                       std::vector<std::vector<uint8_t>> &copies);
  Status recordSteps(Program &program, std::span<const Event> events,
                     std::vector<bool> &ran);

  // CudaState.cpp
  struct StatePart;
  StatePart partOf(const artifact::State &tensor) const;
  Status makeShards();
  Status divideState();
  Status derive(const Program &program);
  Status gather(const artifact::ShardedState &divided, DeviceMemory &to);
  Status writeSmall(DevicePointer to, const void *from, uint64_t bytes);

  // CudaCopies.cpp
  Status readCounts(const Program &program, std::span<const Binding> outputs);
  Status copyIn(const Program &program, std::span<const Binding> inputs);
  Status copyInput(const StridedRegion &region, const void *from,
                   DevicePointer to, uint64_t bytes, uint64_t stagingOffset);
  Status spread(const StridedRegion &region, DevicePointer from,
                DevicePointer to, uint64_t bytes);
  Status copyOut(const Program &program, std::span<const Binding> outputs);
  Status copyOutput(const StridedRegion &region, DevicePointer from, void *to,
                    uint64_t bytes, uint64_t stagingOffset);
  Status gather(const StridedRegion &region, DevicePointer from,
                DevicePointer to, bool stays);
  Status finishCopies(const Program &program, std::span<const Binding> outputs);
  void makeStaging();
  bool isPinned(const void *data) const;

  /// Returns the stream that calls are enqueued on.
  Stream queue() const { return sharedQueue->stream; }

  const Model &model;
  LoadedTarget &loaded;
  const Gpu &gpu;
  const Driver &driver;
  std::shared_ptr<SharedStream> sharedQueue;
  std::shared_ptr<DeviceState> state;
  /// Own outputs; also the arena and own inputs, unless a peer's are used.
  std::shared_ptr<SharedMemory> memory;
  /// Memory of the arena and of own inputs: `memory` or a peer's.
  std::shared_ptr<SharedMemory> arena, inputMemory;
  uint64_t arenaBytes = 0, inputBytes = 0; ///< of both
  DevicePointer firstInput = 0;
  std::vector<DevicePointer> ownInputs, ownOutputs;
  /// Input and output addresses that the tensors of a call ask for.
  std::vector<DevicePointer> wantedInputs, wantedOutputs;
  std::vector<Program> programs; ///< by variant
  /// The versions of the constants and of the state that `programs` are bound
  /// to.
  uint64_t version = 0, stateVersion = 0;
  uint64_t calls = 0;
  std::shared_ptr<Communicator> group; ///< null: one rank

  /// Pinned host memory, with a slot for each small input and output.
  uint8_t *staging = nullptr;
  bool stagingTried = false;
  std::vector<uint64_t> inputOffsets, outputOffsets;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAEXECUTION_H
