//===- Sparsity.h - Weights of which products read 2 of 4 -----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SPARSE_SPARSITY_H
#define FRIT_COMPILER_TRANSFORM_SPARSE_SPARSITY_H

#include "compiler/transform/sparse/SparseConstants.h"

#include "mlir/Pass/Pass.h"

namespace frit {

/// Which weights of products -fsparse multiplies as sparse ones.
enum class Sparsity {
  asTheyAre, ///< those that are 2:4 sparse
  required,  ///< they are 2:4 sparse; others are errors
  pruned,    ///< by magnitude
};

/// Reads "2:4" and "2:4:magnitude".
std::optional<Sparsity> readSparsity(llvm::StringRef text);

/// Creates the pass sparse-weights. `pruned` must outlive it; if it is null,
/// the pass has values of its own.
std::unique_ptr<mlir::Pass>
createSparseWeights(bool prunes = false, PrunedWeights *pruned = nullptr);

/// The attribute of a constant, and later of an argument, whose elements that
/// are 0 stay 0 in training.
inline constexpr llvm::StringLiteral kSparse = "nn.sparse";

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SPARSE_SPARSITY_H
