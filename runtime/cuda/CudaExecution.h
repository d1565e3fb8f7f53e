//===- CudaExecution.h - Run a plan on a GPU ------------------------------===//

#ifndef FRIT_CUDA_CUDAEXECUTION_H
#define FRIT_CUDA_CUDAEXECUTION_H

#include "runtime/cuda/CudaSteps.h"

namespace frit::cuda {

/// A context's memory, stream and graphs. The arena and the context's own
/// inputs and outputs are one allocation.
class CudaExecution final : public Execution {
public:
  explicit CudaExecution(CudaExecutor &executor)
      : executor(executor), gpu(executor.gpu), driver(executor.gpu.driver),
        memory(driver) {}
  ~CudaExecution() override;

  Status open();
  Status run(std::span<const Binding> inputs, std::span<const Binding> outputs,
             bool wait) override;
  Status profile(std::span<const Binding> inputs,
                 std::span<const Binding> outputs,
                 std::vector<StepTime> &times) override;
  Status synchronize() override;
  void *stream() const override { return queue; }
  void *inputBuffer(uint32_t index) override {
    return reinterpret_cast<void *>(ownInputs[index]);
  }
  void *outputBuffer(uint32_t index) override {
    return reinterpret_cast<void *>(ownOutputs[index]);
  }
  std::string pick(uint32_t step) const override { return steps->pick(step); }
  bool isLibrary(uint32_t step) const override {
    return steps->isLibrary(step);
  }

private:
  /// A graph and the inputs' and outputs' addresses it was made for.
  struct CachedGraph {
    std::vector<DevicePointer> addresses;
    std::unique_ptr<StepGraph> graph;
    uint64_t lastUse;
  };

  Status place();
  Status bind(std::span<const Binding> inputs,
              std::span<const Binding> outputs);
  Status launch();
  Status launchSteps();
  GraphExec findGraph();
  Status copyIn(std::span<const Binding> inputs);
  Status copyOut(std::span<const Binding> outputs);
  Status finishCopies(std::span<const Binding> outputs);
  void makeStaging();
  bool isPinned(const void *data) const;
  Status recordSteps(std::span<const Event> events);

  CudaExecutor &executor;
  const Gpu &gpu;
  const Driver &driver;
  DeviceMemory memory;
  Stream queue = nullptr;
  std::vector<DevicePointer> ownInputs, ownOutputs;
  std::vector<DevicePointer> inputAddresses, outputAddresses;
  std::unique_ptr<CudaSteps> steps;
  bool bound = false; ///< whether the steps know the addresses above

  std::vector<CachedGraph> graphs;
  GraphExec current = nullptr; ///< for the bound addresses; null: to be found
  uint64_t calls = 0;
  bool useGraph = true;

  /// Pinned host memory, with a place for each input and output that is not
  /// large.
  uint8_t *staging = nullptr;
  bool stagingTried = false;
  std::vector<uint64_t> inputOffsets, outputOffsets;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDAEXECUTION_H
