//===- Passes.h - The passes over nn --------------------------------------===//
//
// Each is a .cpp named after it, which begins with an example; PassLists.cpp
// says in which order they run. Options are in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PASSES_H
#define FRIT_COMPILER_TRANSFORM_PASSES_H

#include "compiler/transform/sparse/CompressConstants.h"
#include "dialects/nn/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace frit {

#define GEN_PASS_DECL
#include "compiler/transform/Passes.h.inc"

// The passes that ask the target keep a reference to it.
std::unique_ptr<mlir::Pass>
createQuantizedConvs(const nn::Target &target,
                     QuantizedConvsOptions options = {});
std::unique_ptr<mlir::Pass> createLayout(const nn::Target &target,
                                         LayoutOptions options = {});
std::unique_ptr<mlir::Pass>
createFloat8Products(const nn::Target &target,
                     Float8ProductsOptions options = {});
std::unique_ptr<mlir::Pass> createGateProducts(const nn::Target &target);
std::unique_ptr<mlir::Pass> createFoldProducts(const nn::Target &target);
std::unique_ptr<mlir::Pass> createFoldUpsampling(const nn::Target &target);
std::unique_ptr<mlir::Pass> createFoldNorms(const nn::Target &target);
std::unique_ptr<mlir::Pass> createDecompose(const nn::Target &target);
std::unique_ptr<mlir::Pass> createTileWeights(const nn::Target &target);
/// `shared` has what functions share, and must outlive the pass.
std::unique_ptr<mlir::Pass>
createCompressWeights(const nn::Target &target,
                      CompressedWeights *shared = nullptr,
                      CompressWeightsOptions options = {});
std::unique_ptr<mlir::Pass> createTransposeWeights(const nn::Target &target);
std::unique_ptr<mlir::Pass> createByteTables(const nn::Target &target);
std::unique_ptr<mlir::Pass> createSplitReductions(const nn::Target &target);
std::unique_ptr<mlir::Pass> createGuard(const nn::Target &target);
std::unique_ptr<mlir::Pass> createFusion(const nn::Target &target,
                                         FusionOptions options = {});
std::unique_ptr<mlir::Pass> createSideOutputs(const nn::Target &target,
                                              SideOutputsOptions options = {});
std::unique_ptr<mlir::Pass> createJoinAppends(const nn::Target &target);
std::unique_ptr<mlir::Pass> createJoinMaps(const nn::Target &target);
std::unique_ptr<mlir::Pass> createSchedule(const nn::Target &target);
std::unique_ptr<mlir::Pass> createRunBeside(const nn::Target &target);

/// Registers every pass for command lines. Those that need a target use
/// `target`, which must outlive them.
void registerTransformPasses(const nn::Target &target);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_PASSES_H
