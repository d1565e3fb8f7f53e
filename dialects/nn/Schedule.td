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
      "Returns whether a library computes the fusion.",
      "bool", "isLibraryCall", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns the library's algorithm, numbered as by the runtime; 0 if the
        library chooses.
      }], "int64_t", "libraryAlgorithm", (ins), "", "return 0;">,
    InterfaceMethod<[{
        Returns a library call's fallback, the schedule of the kernel that runs
        if the library declines; null if there is none.
      }], "::mlir::Attribute", "fallbackSchedule", (ins), "",
      "return ::mlir::Attribute();">,
    InterfaceMethod<[{
        Returns whether the kernel's parameters are a contraction's operands in
        the order of their roles (A, B, bias, residual, ...). Fusions that only
        differ in the order of their inputs then share a kernel.
      }], "bool", "ordersOperands", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns whether the kernel reads constant operands, which no earlier
        kernel writes, before the PDL wait. Planning then tells it which they
        are.
      }], "bool", "readsConstantsEarly", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns whether a launch of the kernel may take several sets of
        arguments (plan.kernel).
      }], "bool", "takesBatches", (ins), "", "return false;">
  ];
}

#endif // FRIT_DIALECTS_NN_SCHEDULE_TD
