//===- SideKinds.h - Kinds of side outputs --------------------------------===//
//
// A kind joins a fusion to the one whose result or operands it reads, if a
// kernel of the target computes both. Each has a file, which begins with an
// example; SideOutputs.cpp lists them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_SIDEKINDS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_SIDEKINDS_H

#include "dialects/nn/rewrites/SideOutputs.h"

namespace frit {

/// The kernels of a target that have side outputs.
using SideKernels = llvm::ArrayRef<const nn::SideOutputsRewrite *>;

// Kinds. Dead operators may remain in the block.
void joinColumnReductions(mlir::Block &block, SideKernels kernels);
void joinColumnSums(mlir::Block &block, SideKernels kernels);
void joinRowDots(mlir::Block &block, SideKernels kernels);
void joinActivations(mlir::Block &block, SideKernels kernels);

/// Returns whether a kernel computes the fusion; erases it otherwise.
bool takeOrErase(nn::FusionOp joined, SideKernels kernels);

/// Returns the fusion of a matrix product that has only the result `value`, or
/// null.
nn::FusionOp productOf(mlir::Value value);

/// Builds the two results of a joined fusion from the producer's result and the
/// arguments for additional inputs. It may return the same result first.
using BuildResults = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(
    nn::NNBuilder &b, mlir::Value result, mlir::ValueRange more)>;

/// Builds a fusion before `producer` that computes the same and what `build`
/// adds. `more` are additional inputs, and `reader` is the fusion that it shall
/// replace besides.
nn::FusionOp buildJoined(nn::FusionOp producer, nn::FusionOp reader,
                         mlir::ValueRange more, BuildResults build);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_SIDEKINDS_H
