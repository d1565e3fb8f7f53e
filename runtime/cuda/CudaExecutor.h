//===- CudaExecutor.h - A function of an artifact on a GPU ----------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H
#define FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H

#include "runtime/cuda/LoadedTarget.h"

namespace frit::cuda {

class CudaExecutor final : public Executor {
public:
  CudaExecutor(const Model &model, std::shared_ptr<LoadedTarget> loaded)
      : model(model), loaded(std::move(loaded)) {}

  /// Returns what the modules of all functions share.
  std::shared_ptr<LoadedTarget> target() const { return loaded; }

  Status createExecution(Execution *peer,
                         std::unique_ptr<Execution> &execution) override;
  Status setWeights(std::span<const uint32_t> changed) override {
    return loaded->setWeights(changed);
  }
  Status makeGroupId(frit_group_id &id) const override;
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

private:
  const Model &model;
  const std::shared_ptr<LoadedTarget> loaded;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAEXECUTOR_H
