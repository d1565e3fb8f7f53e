//===- CudaExecutor.h - A model's code and weights on a GPU ---------------===//

#ifndef FRIT_CUDA_CUDAEXECUTOR_H
#define FRIT_CUDA_CUDAEXECUTOR_H

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/CudaGuards.h"
#include "runtime/cuda/Cudnn.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/Preparation.h"
#include "runtime/cuda/Upload.h"
#include "runtime/exec/Executor.h"

namespace frit::cuda {

class CudaExecutor final : public Executor {
public:
  explicit CudaExecutor(Model &model)
      : model(model), resident(gpu.driver), prepared(gpu.driver),
        zeros(gpu.driver) {}
  ~CudaExecutor() override;

  Status load(int ordinal);
  Status createExecution(std::unique_ptr<Execution> &execution) override;
  void describe(frit_device_info &info) const override;

  /// The function of entry `index` of Header::kernels.
  Function kernel(uint32_t index) const {
    return functions[index - model.target->kernels.first];
  }

  /// Dynamic shared memory of a step's kernel in bytes. PTX may run on a device
  /// with less; there, kernels with tensor maps take a path that needs neither.
  uint32_t sharedBytes(const artifact::Step &step) const;

  Model &model;
  Gpu gpu;
  /// The libraries; null if the plan does not use them or they are not
  /// installed.
  std::unique_ptr<CublasLt> cublas;
  std::unique_ptr<Cudnn> cudnn;
  /// Null if the plan has no guards or the driver has no conditional nodes.
  std::unique_ptr<GuardKernel> guardKernel;
  std::vector<DevicePointer> constants; ///< 0 if not on the device
  DeviceMemory resident, prepared;
  DeviceMemory zeros; ///< a zero bias for the widest convolution

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
  bool usePtx = false;
  bool cublasFound = false, cudnnFound = false;
  std::vector<Function> functions;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDAEXECUTOR_H
