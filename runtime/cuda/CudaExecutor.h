//===- CudaExecutor.h - A model's code and weights on a GPU ---------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H
#define FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H

#include "runtime/cuda/LoadedModel.h"
#include "runtime/cuda/Preparation.h"
#include "runtime/cuda/Upload.h"

namespace frit::cuda {

class CudaExecutor final : public Executor, public LoadedModel {
public:
  CudaExecutor(Model &model, const CudaExecutor *sibling)
      : LoadedModel(model, sibling),
        weights(sibling ? sibling->weights : nullptr) {}
  ~CudaExecutor() override;

  Status load(int ordinal);
  Status createExecution(Execution *peer,
                         std::unique_ptr<Execution> &execution) override;
  Status setWeights(std::span<const uint32_t> changed) override;
  Status makeGroupId(frit_group_id &id) const override;
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

private:
  /// The constants that calls of any of the artifact's functions read.
  struct ResidentWeights : SharedMemory {
    using SharedMemory::SharedMemory;
    std::vector<DevicePointer> addresses; ///< by constant; 0 if not here
    /// Address of each constant in `memory` or in one of `others`; 0 if its
    /// address is the program's memory.
    std::vector<DevicePointer> places;
    std::vector<std::unique_ptr<SharedMemory>> others;
  };

  Status openGpu(int ordinal);
  Status loadCode();
  Status loadModule(const artifact::DeviceModule &code);
  void loadGuardKernel();
  void findLibraries();
  Status openLibraries();
  Status raiseSharedMemory(const artifact::Step &step);
  /// Returns whether calls read constant `index` from the program's memory.
  bool isInPlace(uint32_t index) const;
  /// Copies constants to their `addresses`.
  Status uploadConstants(Uploader &uploader, std::span<const uint32_t> indices,
                         const std::vector<DevicePointer> &addresses);
  Status uploadResident(Uploader &uploader);
  Status replaceResident(Uploader &uploader, std::span<const uint32_t> changed);
  Status prepare(Uploader &uploader);
  Status runWindow(const Window &window, DevicePointer arena, Stream stream);

  std::shared_ptr<ResidentWeights> weights;
  std::vector<Module> modules; ///< of the target, in order
  bool cublasFound = false, cudnnFound = false;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H
