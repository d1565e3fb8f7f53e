//===- HostModel.h - A function of an artifact on the host ----------------===//

#ifndef FRIT_RUNTIME_CPU_HOSTMODEL_H
#define FRIT_RUNTIME_CPU_HOSTMODEL_H

#include "runtime/cpu/CpuSteps.h"
#include "runtime/cpu/HostTarget.h"

namespace frit::cpu {

/// A function, and the target that its calls use.
struct HostModel {
  HostModel(const Model &model, std::shared_ptr<HostTarget> target)
      : model(model), target(std::move(target)) {}

  /// Returns the scratch memory that suffices for every variant's calls.
  ScratchSize callScratch(Isa isa, unsigned threads) const;

  /// Returns the bytes that a context allocates for all its calls; UINT64_MAX
  /// on overflow.
  uint64_t contextBytes() const;

  /// Returns the bytes that a context's calls allocate beyond that if they need
  /// copies of all the model's inputs and outputs.
  uint64_t copyBytes() const;

  /// Return the number of the model's own inputs and outputs, which callers
  /// give. The sizes and counts after them are the context's.
  size_t modelInputs() const { return model.plan.modelInputs(0).size(); }
  size_t modelOutputs() const { return model.plan.modelOutputs(0).size(); }

  const Model &model;
  const std::shared_ptr<HostTarget> target;
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_HOSTMODEL_H
