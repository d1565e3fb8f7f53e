//===- Library.td - The schedule of a library's call -----------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_LibraryAttr : Cuda_Schedule<"Library", "library"> {
  let summary = "cuBLASLt's product, cuDNN's convolution, its gradient or attention.";
  let parameters = (ins
    NumberOr<"0", "one of the library's algorithms, by the number that the "
                  "runtime gives it; 0 leaves the choice to the library"
            >:$algorithm,
    OptionalParameter<"::mlir::Attribute",
        "schedule of the kernel that runs where the library cannot; gradients "
        "have none">:$fallback);
  let extraClassDeclaration = [{
    bool isLibraryCall() const { return true; }
    int64_t libraryAlgorithm() const { return getAlgorithm(); }
    ::mlir::Attribute fallbackSchedule() const { return getFallback(); }
    bool ordersOperands() const {
      auto own = ::llvm::cast_if_present<::frit::nn::Schedule>(getFallback());
      return !own || own.ordersOperands();
    }
    /// Returns this call with another algorithm.
    LibraryAttr withAlgorithm(int64_t algorithm) const {
      return get(getContext(), algorithm, getFallback());
    }
  }];
}
