//===- LibraryCall.cpp - Fusions that a library computes ------------------===//

#include "codegen/cuda/library/LibraryCall.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
frit::cuda::verifyCall(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t algorithm, Attribute fallback) {
  if (failed(
          requireRanges(emitError, {{"algorithm", algorithm, 0, UINT32_MAX}})))
    return failure();
  auto schedule = dyn_cast_if_present<nn::Schedule>(fallback);
  return require(emitError,
                 !fallback || (schedule && !schedule.isLibraryCall()),
                 "fallback", "the schedule of a kernel");
}

nn::Legality frit::cuda::checkFallback(Problem &problem, Attribute fallback,
                                       const Machine &machine) {
  if (!fallback)
    return std::nullopt;
  auto schedule = cast<nn::Schedule>(fallback);
  const Skeleton *skeleton = skeletonOf(schedule);
  if (!skeleton)
    return nn::Mismatch("its fallback is another target's");
  return skeleton->check(problem, schedule, machine);
}

nn::Match<std::unique_ptr<FittedKernel>>
frit::cuda::kernelOfFallback(Problem &problem, Attribute fallback,
                             const Machine &machine) {
  if (!fallback)
    return nn::Mismatch("only a library computes it");
  auto schedule = cast<nn::Schedule>(fallback);
  const Skeleton *skeleton = skeletonOf(schedule);
  if (!skeleton)
    return nn::Mismatch("its fallback is another target's");
  return skeleton->kernelOf(problem, schedule, machine);
}
