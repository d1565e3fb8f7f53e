//===- Problem.h - A fusion's problem, for skeletons ----------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
#define FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/Problem.h"

#include "llvm/ADT/DenseMap.h"

namespace frit::cuda {

/// Returns whether a type is a 16-bit float.
inline bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16(); }
/// Returns whether all tensors have static shapes and at least one element.
inline bool haveElements(mlir::ValueRange tensors) {
  return llvm::all_of(tensors, [](mlir::Value tensor) {
    mlir::RankedTensorType type = nn::tensorType(tensor);
    return type.hasStaticShape() && type.getNumElements() > 0;
  });
}

/// Returns whether each element of an operator's result depends on a few
/// elements, at places that follow from its own.
bool computesElementsAlone(mlir::Operation &op);

/// A fusion's problem, with cached results that several skeletons need.
class Problem : public nn::Problem {
public:
  using nn::Problem::Problem;

  const LinalgFusion &lowered();

  /// Returns the schedule that `decide` chooses for the fusion; calls it once.
  /// The skeletons of a family share this decision. Each offers the schedule if
  /// it owns it.
  using Decide = nn::Match<nn::Schedule>(Problem &, const Machine &);
  const nn::Match<nn::Schedule> &decideOnce(Decide *decide,
                                            const Machine &machine);

private:
  std::optional<LinalgFusion> linalg;
  llvm::DenseMap<Decide *, nn::Match<nn::Schedule>> decisions;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
