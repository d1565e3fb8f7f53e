//===- LibraryCall.td - Schedules of fusions that a library computes --------===//

#ifndef FRIT_DIALECTS_PLAN_LIBRARYCALL_TD
#define FRIT_DIALECTS_PLAN_LIBRARYCALL_TD

include "mlir/IR/OpBase.td"

def Plan_LibraryCall : AttrInterface<"LibraryCall"> {
  let cppNamespace = "::frit::plan";
  let description = [{
    A schedule of a fusion that a library computes (isLibraryCall): cuBLASLt,
    cuDNN, or on the host the runtime's own kernels. It becomes a plan step that
    describes the problem, instead of a kernel.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the step of a fusion on `buffers`. Reports an error at the fusion
        if the library does not compute it.
      }], "::llvm::LogicalResult", "buildStep",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "::frit::nn::Problem &":$problem,
           "const ::frit::plan::CallBuffers &":$buffers)>,
    InterfaceMethod<[{
        Returns this call with another algorithm, numbered as by the runtime; 0
        if the library chooses.
      }], "::frit::nn::Schedule", "withAlgorithm",
      (ins "int64_t":$algorithm), "",
      "return ::llvm::cast<::frit::nn::Schedule>(::mlir::Attribute($_attr));">
  ];
}

#endif // FRIT_DIALECTS_PLAN_LIBRARYCALL_TD
