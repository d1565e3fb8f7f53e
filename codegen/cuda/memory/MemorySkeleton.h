//===- MemorySkeleton.h - Base of memory-bound skeletons ------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_MEMORYSKELETON_H
#define FRIT_CODEGEN_CUDA_MEMORY_MEMORYSKELETON_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Base of a family of skeletons that share one decision: `decide` picks the
/// member and schedule for a fusion. `milliseconds` is their
/// compileMilliseconds(). The family takes fusions of `kinds`, or of any kind
/// if none is named.
template <class Attr, class Kernel, Problem::Decide *decide, int milliseconds,
          Problem::Kind... kinds>
class MemorySkeleton : public SkeletonOf<Attr, Kernel> {
protected:
  /// Returns the elements of the largest tensor that a thread has in flight.
  virtual int64_t elementsPerThread(Attr schedule) const {
    if constexpr (requires { schedule.getVector(); })
      return schedule.getVector();
    else
      return 1;
  }

private:
  double compileMilliseconds() const override { return milliseconds; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (sizeof...(kinds) && ((problem.kind() != kinds) && ...))
      return std::nullopt;
    const nn::Match<nn::Schedule> &decided =
        problem.decideOnce(decide, machine);
    if (!decided)
      return decided.mismatch();
    if (llvm::isa<Attr>(*decided))
      offers.add(*decided);
    return std::nullopt;
  }
  std::optional<nn::StepCost> costOf(Problem &problem, Attr schedule,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), elementsPerThread(schedule),
                        machine.arch);
  }
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_MEMORYSKELETON_H
