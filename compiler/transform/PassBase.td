//===- PassBase.td - What passes over nn share ----------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PASSBASE_TD
#define FRIT_COMPILER_TRANSFORM_PASSBASE_TD

include "mlir/Pass/PassBase.td"

/// A pass over the functions of a module.
class NNPass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let dependentDialects = ["::frit::nn::NNDialect"];
}

/// A pass that asks the target. Its constructor is written by hand (see
/// Passes.h); the name here only keeps tblgen from generating one without a
/// target.
class TargetPass<string argument> : NNPass<argument> {
  let constructor = "made in Passes.h";
}

#endif // FRIT_COMPILER_TRANSFORM_PASSBASE_TD
