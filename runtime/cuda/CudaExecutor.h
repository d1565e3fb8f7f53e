//===- CudaExecutor.h - A model's code and weights on a GPU ---------------===//

#ifndef FRIT_CUDA_CUDAEXECUTOR_H
#define FRIT_CUDA_CUDAEXECUTOR_H

#include "runtime/cuda/LoadedModel.h"
#include "runtime/cuda/Preparation.h"
#include "runtime/cuda/Upload.h"

namespace frit::cuda {

class CudaExecutor final : public Executor, public LoadedModel {
public:
  explicit CudaExecutor(Model &model) : LoadedModel(model) {}
  ~CudaExecutor() override;

  Status load(int ordinal);
  Status createExecution(std::unique_ptr<Execution> &execution) override;
  void describe(frit_device_info &info) const override;

private:
  Status loadCode();
  Status loadModule(const artifact::DeviceModule &code);
  void loadGuardKernel();
  void findLibraries();
  Status openLibraries();
  Status raiseSharedMemory(const artifact::Step &step);
  /// Copies constants one after another to `to`.
  Status uploadConstants(Uploader &uploader, std::span<const uint32_t> indices,
                         DevicePointer to);
  Status uploadResident(Uploader &uploader);
  Status prepare(Uploader &uploader);
  Status runWindow(const Window &window, DevicePointer arena, Stream stream);

  std::vector<Module> modules; ///< of the target, in order
  bool cublasFound = false, cudnnFound = false;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDAEXECUTOR_H
