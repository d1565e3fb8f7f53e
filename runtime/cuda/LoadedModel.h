//===- LoadedModel.h - A loaded model on a GPU ----------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LOADEDMODEL_H
#define FRIT_RUNTIME_CUDA_LOADEDMODEL_H

#include "runtime/cuda/CudaGuards.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/library/CublasLt.h"
#include "runtime/cuda/library/Cudnn.h"
#include "runtime/exec/Executor.h"

namespace frit::cuda {

/// A model's code, weights and libraries on a GPU, loaded by CudaExecutor.
class LoadedModel {
public:
  /// Returns the function of entry `index` of Header::kernels.
  Function kernel(uint32_t index) const {
    return functions[index - model.target->kernels.first];
  }

  /// Returns the dynamic shared memory of a step's kernel in bytes. PTX may run
  /// on a device with less shared memory. There, kernels with tensor maps take
  /// a path that uses neither.
  uint32_t sharedBytes(const artifact::Step &step) const {
    bool floor = usePtx && model.plan.kernels()[step.kernel].tensorMaps.count;
    return floor ? 0 : step.sharedBytes;
  }

  Model &model;
  /// Shared with the executors and contexts of the artifact's other functions.
  std::shared_ptr<Gpu> sharedGpu;
  const Gpu &gpu;
  /// The libraries; null if the plan does not use them or they are not
  /// installed.
  std::unique_ptr<CublasLt> cublas;
  std::unique_ptr<Cudnn> cudnn;
  /// Shared with the device's other models; null without cuDNN.
  std::shared_ptr<CudnnHandles> cudnnHandles;
  /// Null if the plan has no guards or the driver has no conditional nodes.
  std::unique_ptr<GuardKernel> guardKernel;
  std::vector<DevicePointer> constants; ///< 0 if not on the device
  /// Counts changes of `constants`.
  uint64_t version = 0;
  DeviceMemory prepared;
  DeviceMemory zeros; ///< a zero bias for the widest convolution

protected:
  /// `sibling`, if not null, is the model of another function of the artifact.
  LoadedModel(Model &model, const LoadedModel *sibling)
      : model(model),
        sharedGpu(sibling ? sibling->sharedGpu : std::make_shared<Gpu>()),
        gpu(*sharedGpu), prepared(gpu), zeros(gpu) {
    sharedGpu->memory = model.memory;
  }
  ~LoadedModel() = default;

  std::vector<Function> functions;
  bool usePtx = false;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LOADEDMODEL_H
