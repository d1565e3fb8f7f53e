//===- LibraryCall.h - Fusions that a library computes --------------------===//
//
// A library's call is registered like a skeleton: an attribute in its .td, a
// line in target/CudaDialect.td that includes it, and a class. The attribute
// becomes a plan step (plan::LibraryCall::buildStep). If it has a fallback, its
// kernel is the fallback's.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_LIBRARY_LIBRARYCALL_H
#define FRIT_CODEGEN_CUDA_LIBRARY_LIBRARYCALL_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Verifies that `algorithm` is a number that the runtime may give and that
/// `fallback` is null or the schedule of a kernel.
llvm::LogicalResult
verifyCall(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
           int64_t algorithm, mlir::Attribute fallback = nullptr);

/// Emits the kernel of a call's fallback, which may be null.
nn::Match<KernelText> emitFallback(Problem &problem, mlir::Attribute fallback,
                                   llvm::StringRef name,
                                   const Machine &machine);

/// A library's call. Its cost among other kernels is unknown.
template <class Attr> class LibraryCallOf : public TunedSkeletonOf<Attr> {
  double compileMilliseconds() const override { return 0; }
  std::optional<nn::StepCost> costOf(Problem &, Attr,
                                     const Machine &) const override {
    return std::nullopt;
  }
  nn::Match<KernelText> emitText(Problem &problem, Attr schedule,
                                 llvm::StringRef name,
                                 const Machine &machine) const override {
    return emitFallback(problem, schedule.fallbackSchedule(), name, machine);
  }
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_LIBRARY_LIBRARYCALL_H
