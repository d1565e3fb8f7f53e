//===- CudaExecutor.h - A model's code and weights on a GPU ---------------===//

#ifndef FRIT_CUDA_CUDAEXECUTOR_H
#define FRIT_CUDA_CUDAEXECUTOR_H

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
  Status makeGroupId(frit_group_id &id) const override;
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

private:
  /// The constants that calls read, of all functions of the artifact.
  struct ResidentWeights : SharedMemory {
    using SharedMemory::SharedMemory;
    std::vector<DevicePointer> addresses; ///< by constant; 0 if not here
  };

  Status openGpu(int ordinal);
  Status loadCode();
  Status loadModule(const artifact::DeviceModule &code);
  void loadGuardKernel();
  void findLibraries();
  Status openLibraries();
  Status raiseSharedMemory(const artifact::Step &step);
  /// Copies constants one after another to `to` and sets their `addresses`.
  Status uploadConstants(Uploader &uploader, std::span<const uint32_t> indices,
                         DevicePointer to,
                         std::vector<DevicePointer> &addresses);
  Status uploadResident(Uploader &uploader);
  Status prepare(Uploader &uploader);
  Status runWindow(const Window &window, DevicePointer arena, Stream stream);

  std::shared_ptr<const ResidentWeights> weights;
  std::vector<Module> modules; ///< of the target, in order
  bool cublasFound = false, cudnnFound = false;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDAEXECUTOR_H
