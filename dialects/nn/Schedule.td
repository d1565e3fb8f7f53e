//===- Schedule.td - The interface of schedules ---------------------------===//

#ifndef FRIT_DIALECTS_NN_SCHEDULE_TD
#define FRIT_DIALECTS_NN_SCHEDULE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def NN_Schedule : AttrInterface<"Schedule"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    How a target runs a fusion: the choice of kernel and every number of it. The
    attributes are the targets' own (`#cuda.row`, `#cpu.loops`); the passes over
    nn and planning ask no more than this.
  }];
  let methods = [
    InterfaceMethod<
      "Whether a library computes the fusion.",
      "bool", "isLibraryCall", (ins), "", "return false;">,
    InterfaceMethod<[{
        The library's algorithm by the number that the runtime gives it; 0
        leaves the choice to the library.
      }], "int64_t", "libraryAlgorithm", (ins), "", "return 0;">,
    InterfaceMethod<[{
        Of a library call the schedule of the kernel that runs where the library
        cannot; null where there is none.
      }], "::mlir::Attribute", "fallbackSchedule", (ins), "",
      "return ::mlir::Attribute();">,
    InterfaceMethod<[{
        Whether the kernel's parameters are a contraction's operands in the
        order of their roles (A, B, bias, residual, ...), so that fusions that
        differ in the order of their inputs share a kernel.
      }], "bool", "ordersOperands", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether the kernel reads operands that no earlier kernel writes before
        those have ended; planning then tells it which they are.
      }], "bool", "readsConstantsEarly", (ins), "", "return false;">
  ];
}

#endif // FRIT_DIALECTS_NN_SCHEDULE_TD
