//===- Problem.h - A fusion as skeletons see it ---------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
#define FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/Problem.h"

#include "llvm/ADT/DenseMap.h"

namespace frit::cuda {

/// What a fusion computes, with what several skeletons work out of it.
class Problem : public nn::Problem {
public:
  using nn::Problem::Problem;

  const LinalgFusion &lowered();

  /// What `decide` chooses for the fusion; asked once. Skeletons of one family
  /// share a decision, each offers its part of it.
  using Decide = nn::Match<nn::Schedule>(Problem &, const Machine &);
  const nn::Match<nn::Schedule> &decideOnce(Decide *decide,
                                            const Machine &machine);

private:
  std::optional<LinalgFusion> linalg;
  llvm::DenseMap<Decide *, nn::Match<nn::Schedule>> decisions;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
