//===- StepInterface.td - What all steps of a plan have ---------------------===//

#ifndef FRIT_DIALECTS_PLAN_STEPINTERFACE_TD
#define FRIT_DIALECTS_PLAN_STEPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Plan_StepOp : OpInterface<"StepOp"> {
  let cppNamespace = "::frit::plan";
  let description = [{
    A step of a command list. Its attribute `follows` names the steps that it
    follows (see `plan.command_list`).
  }];
  let methods = [
    InterfaceMethod<"Returns the buffers that it reads.",
      "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<[{
        Returns the buffers that it writes. A workspace counts as written.
      }], "::llvm::SmallVector<::mlir::Value>", "getWrites">,
    InterfaceMethod<"Returns `follows`; null if there is none.",
      "::mlir::DenseI64ArrayAttr", "getFollowsAttr", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/[{
        return $_op->template getAttrOfType<::mlir::DenseI64ArrayAttr>(
            "follows");
      }]>];
  let verify = [{ return ::frit::plan::detail::verifyFollows($_op); }];
}

#endif // FRIT_DIALECTS_PLAN_STEPINTERFACE_TD
