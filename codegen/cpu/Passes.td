//===- Passes.td - The passes over host kernels -----------------------------===//

#ifndef FRIT_CODEGEN_CPU_PASSES_TD
#define FRIT_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass over a kernel's function. Constructors are in Passes.h.
class KernelPass<string argument> : Pass<argument, "::mlir::func::FuncOp"> {
  let constructor = "made in Passes.h";
}

def ReadUnexpanded : KernelPass<"read-unexpanded"> {
  let summary = "Let the loops of host kernels read tensors without their "
                "dimensions of 1";
}

def TileOuterLoops : KernelPass<"tile-outer-loops"> {
  let summary = "Tile host kernels, so that their outermost loop runs over work "
                "items";
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MergeLoops : KernelPass<"merge-loops"> {
  let summary = "Merge the loops of host kernels that have many";
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def StoreResults : KernelPass<"store-results"> {
  let summary = "Store the results of host kernels to their arguments";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlaceAllocations : KernelPass<"place-allocations"> {
  let summary = "Put temporaries of host kernels on the stack or into the "
                "workspace";
}

def FlattenLoops : KernelPass<"flatten-loops"> {
  let summary = "Make one loop of nests of merged operations and of whole "
                "reductions";
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SplitLoops : KernelPass<"split-loops"> {
  let summary = "Split innermost loops where their body selects otherwise";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // FRIT_CODEGEN_CPU_PASSES_TD
