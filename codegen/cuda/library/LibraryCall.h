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

/// Returns why a call's fallback, the schedule of a kernel or null, does not
/// fit the fusion.
nn::Legality checkFallback(Problem &problem, mlir::Attribute fallback,
                           const Machine &machine);

/// Returns the kernel of a call's fallback.
nn::Match<std::unique_ptr<FittedKernel>>
kernelOfFallback(Problem &problem, mlir::Attribute fallback,
                 const Machine &machine);

/// A library's call. Its cost among other kernels is unknown. Its kernel is its
/// fallback's; a call without one has none.
template <class Attr> class LibraryCallOf : public Skeleton {
public:
  llvm::StringRef name() const final { return Attr::getMnemonic(); }
  bool owns(nn::Schedule schedule) const final {
    return llvm::isa<Attr>(schedule);
  }
  bool isTuned() const final { return true; }
  double compileMilliseconds() const final { return 0; }
  std::optional<nn::StepCost> cost(Problem &, nn::Schedule,
                                   const Machine &) const final {
    return std::nullopt;
  }
  nn::Legality check(Problem &problem, nn::Schedule schedule,
                     const Machine &machine) const final {
    if (nn::Legality why = checkCall(problem))
      return why;
    return checkFallback(problem, schedule.fallbackSchedule(), machine);
  }
  nn::Match<std::unique_ptr<FittedKernel>>
  kernelOf(Problem &problem, nn::Schedule schedule,
           const Machine &machine) const final {
    if (nn::Legality why = checkCall(problem))
      return *why;
    return kernelOfFallback(problem, schedule.fallbackSchedule(), machine);
  }

protected:
  /// Returns why the library does not compute the fusion.
  virtual nn::Legality checkCall(Problem &problem) const = 0;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_LIBRARY_LIBRARYCALL_H
