//===- Library.td - Base of libraries' schedules --------------------------===//

#ifndef FRIT_CODEGEN_CUDA_LIBRARY_LIBRARY_TD
#define FRIT_CODEGEN_CUDA_LIBRARY_LIBRARY_TD

include "codegen/cuda/target/Schedule.td"
include "dialects/plan/LibraryCall.td"

def Cuda_Algorithm
    : NumberOr<"0", "the library's algorithm, numbered as by the runtime; 0 if "
                    "the library chooses">;

/// A call with a kernel of frit's as its fallback. `orders` is that kernel's
/// ordersOperands().
class Cuda_CallOrKernel<string name, string mnemonic_, string orders>
    : Cuda_Schedule<name, mnemonic_,
                    [DeclareAttrInterfaceMethods<Plan_LibraryCall>]> {
  let parameters = (ins Cuda_Algorithm:$algorithm,
      OptionalParameter<"::mlir::Attribute", "the kernel's schedule"
                       >:$fallback);
  let extraClassDeclaration = [{
    bool isLibraryCall() const { return true; }
    int64_t libraryAlgorithm() const { return getAlgorithm(); }
    bool ordersOperands() const { return }] # orders # [{; }
    ::mlir::Attribute fallbackSchedule() const { return getFallback(); }
    ::frit::nn::Schedule withAlgorithm(int64_t algorithm) const {
      return get(getContext(), algorithm, getFallback());
    }
  }];
}

/// A call without a fallback.
class Cuda_CallOnly<string name, string mnemonic_, string orders>
    : Cuda_Schedule<name, mnemonic_,
                    [DeclareAttrInterfaceMethods<Plan_LibraryCall>]> {
  let parameters = (ins Cuda_Algorithm:$algorithm);
  let extraClassDeclaration = [{
    bool isLibraryCall() const { return true; }
    int64_t libraryAlgorithm() const { return getAlgorithm(); }
    bool ordersOperands() const { return }] # orders # [{; }
    ::frit::nn::Schedule withAlgorithm(int64_t algorithm) const {
      return get(getContext(), algorithm);
    }
  }];
}

#endif // FRIT_CODEGEN_CUDA_LIBRARY_LIBRARY_TD
