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

nn::Match<KernelText> frit::cuda::emitFallback(Problem &problem,
                                               Attribute fallback,
                                               StringRef name,
                                               const Machine &machine) {
  if (!fallback)
    return nn::Mismatch("only a library computes it");
  auto schedule = cast<nn::Schedule>(fallback);
  const Skeleton *skeleton = skeletonOf(schedule);
  if (!skeleton)
    return nn::Mismatch("its fallback is another target's");
  return skeleton->emit(problem, schedule, name, machine);
}
