//===- LoadedTarget.h - A target of an artifact on a GPU ------------------===//

#ifndef FRIT_RUNTIME_CUDA_LOADEDTARGET_H
#define FRIT_RUNTIME_CUDA_LOADEDTARGET_H

#include "runtime/cuda/CudaGuards.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/Preparation.h"
#include "runtime/cuda/Upload.h"
#include "runtime/cuda/library/CublasLt.h"
#include "runtime/cuda/library/Cudnn.h"
#include "runtime/exec/Executor.h"

namespace frit::cuda {

/// Returns whether cuDNN computes the step if it is installed.
inline bool isForCudnn(const artifact::Step &step) {
  return step.kind == artifact::StepKind::conv ||
         step.kind == artifact::StepKind::attention;
}

/// A target's code, weights, prepared weights and libraries on a GPU. The
/// modules of all functions of the artifact share it.
class LoadedTarget {
public:
  /// `model` is that of the function that is opened first.
  explicit LoadedTarget(const Model &model)
      : model(model), sharedGpu(std::make_shared<Gpu>()), gpu(*sharedGpu),
        prepared(gpu), zeros(gpu) {
    sharedGpu->memory = model.memory;
  }
  LoadedTarget(const LoadedTarget &) = delete;
  ~LoadedTarget();

  Status load(int ordinal, Phases &phases);
  Status setWeights(std::span<const uint32_t> changed);

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

  /// Returns the bytes of device memory that it has allocated.
  uint64_t bytes() const;

  /// Its view of the plan is that of the function that was opened first, which
  /// only matters for what belongs to one function.
  const Model model;
  /// Shared with the contexts.
  const std::shared_ptr<Gpu> sharedGpu;
  const Gpu &gpu;
  /// The libraries; null if the plan does not use them or they are not
  /// installed.
  std::unique_ptr<CublasLt> cublas;
  std::unique_ptr<Cudnn> cudnn;
  /// Shared with the device's other models; null without cuDNN.
  std::shared_ptr<CudnnHandles> cudnnHandles;
  /// Null if the plan has no guards or the driver has no conditional nodes.
  std::unique_ptr<GuardKernel> guardKernel;
  /// By entry of Header::constants; 0 if not on the device.
  std::vector<DevicePointer> constants;
  /// Counts changes of `constants`.
  uint64_t version = 0;
  DeviceMemory prepared;
  DeviceMemory zeros; ///< a zero bias for the widest convolution

private:
  Status openGpu(int ordinal);
  Status loadCode();
  Status loadModule(const artifact::DeviceModule &code);
  void loadGuardKernel();
  void findLibraries();
  Status openLibraries();
  Status raiseSharedMemory(const artifact::Step &step);
  void divideShared(std::span<const artifact::Step> steps);

  // LoadedWeights.cpp
  /// Returns whether calls read constant `index` from the program's memory.
  bool isInPlace(uint32_t index) const;
  /// Copies constants to their `constants`.
  Status uploadConstants(Uploader &uploader, std::span<const uint32_t> indices);
  Status uploadResident(Uploader &uploader);
  Status replaceResident(Uploader &uploader, std::span<const uint32_t> changed);
  Status prepare(Uploader &uploader);
  Status runWindow(const Window &window, DevicePointer arena, Stream stream);

  std::vector<Module> modules; ///< of the target, in order
  std::vector<Function> functions;
  bool usePtx = false;
  bool cublasFound = false, cudnnFound = false;
  /// Memory of the constants that calls read.
  std::unique_ptr<DeviceMemory> resident;
  /// Memory of constants that were in the program's memory before.
  std::vector<std::unique_ptr<DeviceMemory>> others;
  /// Address of each constant in `resident` or in one of `others`; 0 if it has
  /// none there.
  std::vector<DevicePointer> places;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LOADEDTARGET_H
