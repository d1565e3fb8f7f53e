//===- SparseProducts.cpp - Products by 2:4 sparse matrices ---------------===//

#include "codegen/cuda/sparse/SparseProducts.h"

#include "codegen/cuda/device/wgmma_layout.cuh"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Tensor cores multiply sparse matrices from this architecture on.
static constexpr int kSparseCapability = 80;
static constexpr int64_t kMostSparseRows = 16;
/// Rows of A of a block of WGMMA: with the wide one, columns of A are read from
/// shared memory half as often.
static constexpr int64_t kWideRows = 256, kNarrowRows = 128;
/// Microseconds of a block of the wide one on an H200, and for each step of k:
/// fitted to the shapes of wgmma_sparse.cu, within 12 %.
static constexpr double kSparseBlockTime = 5.8, kSparseStepTime = 8.1e-3;

std::optional<nn::SparseMatrix> cuda::sparseOf(Value matrix) {
  if (auto op = matrix.getDefiningOp<nn::DecompressOp>())
    return nn::describeSparse(op);
  return std::nullopt;
}

nn::Match<nn::GemmInfo> cuda::describeWithNorm(nn::MatmulOp product) {
  return nn::describePrepared(product, product.getA().getDefiningOp());
}

/// Returns why no kernel computes a product of these sizes.
static nn::Legality checkSizes(const nn::GemmInfo &info,
                               const Machine &machine) {
  if (machine.arch.capability < kSparseCapability)
    return nn::Mismatch("the GPU multiplies no sparse matrices");
  if (machine.batchInvariant)
    return nn::Mismatch("the order of its sums depends on the rows");
  if (info.batch != 1)
    return nn::Mismatch("it has several matrices");
  if (info.transposeA)
    return nn::Mismatch("its rows are columns of the operand");
  if (info.epilogue.isExtended())
    return nn::Mismatch("its kernel stores no statistics");
  Type type = elementType(info.a);
  if (!isHalf(type) || elementType(info.b) != type)
    return nn::Mismatch("its elements are no 16-bit numbers of one type");
  if (info.lda % 8)
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  if (!nn::hasSparseTiles(info.n, info.k))
    return nn::Mismatch("its matrix has no whole tiles of 16 by 128");
  return std::nullopt;
}

nn::Legality cuda::checkSparseRows(const nn::GemmInfo &info,
                                   const Machine &machine) {
  if (nn::Legality why = checkSizes(info, machine))
    return why;
  if (info.m > kMostSparseRows)
    return nn::Mismatch("it has more than " + Twine(kMostSparseRows) + " rows");
  Type type = elementType(info.a);
  if (info.norm && (!type.isBF16() || elementType(info.norm->scale) != type))
    return nn::Mismatch("the rows that it normalizes are no bf16, or their "
                        "scale has another type");
  return std::nullopt;
}

nn::Legality cuda::checkWgmmaSparse(const nn::GemmInfo &info,
                                    const Machine &machine) {
  if (nn::Legality why = checkSizes(info, machine))
    return why;
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("it has more than " + Twine(kMostSparseRows) + " rows");
  if (info.m <= kMostSparseRows || info.norm || info.pairedB)
    return nn::Mismatch("it has few rows");
  if (info.n % WgmmaSparseLayout::columns)
    return nn::Mismatch("its columns are no multiple of " +
                        Twine(WgmmaSparseLayout::columns));
  return std::nullopt;
}

int64_t cuda::wgmmaSparseRows(const nn::GemmInfo &info) {
  return info.m > kNarrowRows ? kWideRows : kNarrowRows;
}

double cuda::wgmmaSparseMicroseconds(const nn::GemmInfo &info,
                                     const Machine &machine) {
  int64_t blocks =
      ceilDiv(info.m, kWideRows) * ceilDiv(info.n, WgmmaSparseLayout::columns);
  return double(ceilDiv(blocks, machine.arch.sms)) *
         (kSparseBlockTime + kSparseStepTime * double(info.k));
}

bool cuda::takesSparse(const nn::Match<nn::GemmInfo> &info,
                       const Machine &machine, SparseCheck check) {
  return info && info->transposeB && sparseOf(info->b) &&
         !check(*info, machine);
}

nn::Match<nn::GemmInfo> cuda::describeSparse(Problem &problem,
                                             const Machine &machine,
                                             SparseCheck check) {
  const nn::Match<nn::GemmInfo> &info = problem.preparedGemm();
  if (!info)
    return info.mismatch();
  if (!info->transposeB || !sparseOf(info->b))
    return nn::Mismatch("its matrix is not sparse");
  if (nn::Legality why = check(*info, machine))
    return *why;
  return *info;
}

void cuda::addSparseProduct(ProblemText &text, const nn::GemmInfo &info) {
  text.addType("A", info.a);
  text.addType("D", nullptr);
  text.addType("Bias", info.epilogue.bias());
  text.addConstants("int64_t", {{"m", info.m}, {"n", info.n}, {"k", info.k}});
  text.addConstants("int64_t", {{"lda", info.lda}, {"ldd", info.ldd}});
  nn::SparseMatrix matrix = *sparseOf(info.b);
  if (!matrix.code)
    return;
  text.addType("Scale", matrix.scales);
  text.addField("static constexpr frit::Code code = frit::Code::" +
                nn::nameOf(*matrix.code) + ";");
}

std::string cuda::sparseOperand(const ProblemText &text, Value matrix) {
  nn::SparseMatrix parts = *sparseOf(matrix);
  return "{" + text.parameter(parts.values) + ", " +
         text.parameter(parts.places) + ", " + text.parameter(parts.scales) +
         "}";
}

bool cuda::isConstantSparse(const ProblemText &text, Value matrix) {
  nn::SparseMatrix parts = *sparseOf(matrix);
  return text.isConstant(parts.values) && text.isConstant(parts.places);
}
