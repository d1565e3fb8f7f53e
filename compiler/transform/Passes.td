//===- Passes.td - The passes over nn, in the order they run ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PASSES_TD
#define FRIT_COMPILER_TRANSFORM_PASSES_TD

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

def Simplify : NNPass<"simplify"> {
  let summary = "Canonicalise, fold small constants, merge equal operators";
  let options = [Option<"sliceRows", "slice-rows", "bool", "true",
                        "Bring slices before what works row by row">];
}

def Compose : NNPass<"compose"> {
  let summary = "Recognise composites and fold operators into contractions";
}

def Precision : NNPass<"precision"> {
  let summary = "Make the graph compute in a narrower float type";
  let options = [Option<"mode", "mode", "std::string", "\"fp32\"",
                        "fp32, tf32, fp16, bf16, amp-fp16 or amp-bf16">,
                 ListOption<"keep", "keep", "std::string",
                            "globs of names of nodes that stay f32">];
}

def Differentiate : NNPass<"differentiate"> {
  let summary = "Append the gradients of a function's first result";
}

def InterfaceTypes : NNPass<"interface-types"> {
  let summary = "Give inputs and outputs the types that the caller wants";
  let options = [ListOption<"types", "types", "std::string",
                            "NAME:TYPE, as x:f16">];
}

def Layout : TargetPass<"layout"> {
  let summary = "Put channels last where the target's convolutions want it";
  let options = [Option<"groupNorms", "group-norms", "bool", "false",
                        "Normalise groups of channels where these are last">];
}

def FoldNorms : TargetPass<"fold-norms"> {
  let summary = "Make layer norms factors of the products around them";
}

def Decompose : TargetPass<"decompose"> {
  let summary = "Replace composites that the target does not keep whole";
}

def RecomputeWide : NNPass<"recompute-wide"> {
  let summary = "Compute wide values of 16-bit tensors for every reader";
}

def SplitReductions : TargetPass<"split-reductions"> {
  let summary = "Reduce in two steps where the results are few";
}

def HoistPrepare : NNPass<"hoist-prepare"> {
  let summary = "Move what depends on weights only to @prepare";
}

def AlignColumns : TargetPass<"align-columns"> {
  let summary = "Round up odd columns that products of gradients read";
}

def Guard : TargetPass<"guard"> {
  let summary = "Guard what is needed for one value of a condition only";
}

def Fusion : TargetPass<"fusion"> {
  let summary = "Group operators into kernels";
  let options = [Option<"fuse", "fuse", "bool", "true",
                        "Group at all; otherwise one operator per kernel">];
}

def JoinColumnSums : TargetPass<"join-column-sums"> {
  let summary = "Sum columns in the kernels that reduce the rows";
}

def JoinActivations : TargetPass<"join-activations"> {
  let summary = "Let kernels of products store activations and their operands";
}

def SumProductColumns : TargetPass<"sum-product-columns"> {
  let summary = "Sum columns in the kernels of products that store them";
}

def Schedule : TargetPass<"schedule"> {
  let summary = "Set the target's schedule on every fusion";
}

#endif // FRIT_COMPILER_TRANSFORM_PASSES_TD
