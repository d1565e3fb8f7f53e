//===- SparseProducts.h - Products by 2:4 sparse matrices -----------------===//

#ifndef FRIT_CODEGEN_CUDA_SPARSE_SPARSEPRODUCTS_H
#define FRIT_CODEGEN_CUDA_SPARSE_SPARSEPRODUCTS_H

#include "codegen/cuda/contraction/ProblemText.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/operators/Sparse.h"

namespace frit::cuda {

/// Returns the parts of a matrix that is an nn.decompress.
std::optional<nn::SparseMatrix> sparseOf(mlir::Value matrix);

/// Describes a product with the norm of its rows, if it is one.
nn::Match<nn::GemmInfo> describeWithNorm(nn::MatmulOp product);

/// Return why the kernel of a few rows, or that of many, does not compute a
/// product of these sizes if its matrix is sparse.
nn::Legality checkSparseRows(const nn::GemmInfo &info, const Machine &machine);
nn::Legality checkWgmmaSparse(const nn::GemmInfo &info, const Machine &machine);

/// Estimates the time of such a product of many rows, in microseconds.
double wgmmaSparseMicroseconds(const nn::GemmInfo &info,
                               const Machine &machine);

/// Returns the rows of A of a block of such a product.
int64_t wgmmaSparseRows(const nn::GemmInfo &info);

/// Returns the product of a fusion if its matrix is sparse and `check` has
/// nothing against it.
using SparseCheck = nn::Legality (*)(const nn::GemmInfo &, const Machine &);
nn::Match<nn::GemmInfo> describeSparse(Problem &problem, const Machine &machine,
                                       SparseCheck check);
/// Returns whether it is such a product.
bool takesSparse(const nn::Match<nn::GemmInfo> &info, const Machine &machine,
                 SparseCheck check);

/// Adds the types, the sizes and the code of a product.
void addSparseProduct(ProblemText &text, const nn::GemmInfo &info);

/// Returns the text of a matrix's parts, "{x1, x2, nullptr}".
std::string sparseOperand(const ProblemText &text, mlir::Value matrix);
/// Returns whether no kernel just before this one writes them.
bool isConstantSparse(const ProblemText &text, mlir::Value matrix);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SPARSE_SPARSEPRODUCTS_H
