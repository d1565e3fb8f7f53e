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

  /// The kernel of entry `index` of Header::kernels.
  Function kernel(uint32_t index) const {
    return functions[index - model.target->kernels.first];
  }

  /// Dynamic shared memory of a step's kernel. PTX runs on devices that may not
  /// have as much; there kernels with tensor maps do without both.
  uint32_t sharedBytes(const artifact::Step &step) const;

  Model &model;
  Gpu gpu;
  /// The libraries; null where the plan uses them not, or they are not there.
  std::unique_ptr<CublasLt> cublas;
  std::unique_ptr<Cudnn> cudnn;
  /// Null where the plan guards nothing, or the driver cannot.
  std::unique_ptr<GuardKernel> guardKernel;
  std::vector<DevicePointer> constants; ///< 0 where not on the device
  DeviceMemory resident, prepared;
  DeviceMemory zeros; ///< as many as the widest convolution has filters

private:
  Status loadCode();
  Status loadModule(const artifact::DeviceModule &code);
  void loadGuardKernel();
  void findLibraries();
  Status openLibraries();
  Status raiseSharedMemory(const artifact::Step &step);
  /// Copies constants to where `to` points, one behind another.
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
