//===- ContractionInfo.h - Fusions of a contraction -----------------------===//
//
// Describes fusions around a matmul or conv that a library or one of our tiled
// kernels computes in one call:
//
//   D = activation(A·B + bias + R)      y = activation(conv(x, w) + bias + R)
//
// In addition, a product may normalize A's rows or the residual by moments, and
// compute moments of D (nn.moments, nn.column_moments), sums of its columns
// (nn.column_sums) or dot products of its rows (nn.row_dots), or also yield its
// activation's operand or slope. A convolution may have a second convolution,
// of another input with other filters, in R's place.
// A convolution and a pointwise one of its result may form one fusion
// (back-to-back).
//
// Planning reads the problem's sizes and operands. Targets ask whether a
// fusion, also with one more operator, has this form.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CONTRACTIONINFO_H
#define FRIT_DIALECTS_NN_CONTRACTIONINFO_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

#include "frit/activation.h"

namespace frit::nn {

/// Operand that an epilogue normalizes by moments: A's rows
/// (nn.normalize_product directly after the product), or the residual
/// (nn.normalize).
enum class NormKind { none, product, residual };

/// The operators after a contraction. Values belong to the fusion's body.
struct EpilogueInfo {
  mlir::Value bias, residual;
  Activation activation = Activation::none;
  /// Whether the result is an elementwise function of product, bias and
  /// residual other than activation(product + bias + residual). It may change
  /// the type. Only our own kernels compute it.
  bool mixed = false;
  /// The contraction's result; for a convolution, with its bias.
  mlir::Value product;
  /// Input and result of the activation's operators.
  mlir::Value sum, result;
  /// For a norm: the moments, each of `width` elements of a row, and its vector
  /// with one element per column.
  NormKind norm = NormKind::none;
  mlir::Value moments, column;
  int64_t width = 0;
  double epsilon = 0;
  /// `sum`, or the activation's slope there, if the fusion also yields that.
  mlir::Value second;
  /// Moments of the result's rows or columns, sums of its columns, or dot
  /// products of its rows, if the fusion computes them.
  mlir::Value resultMoments;
  int64_t resultWidth = 0;
  /// Tensor whose rows the dot products multiply the result's rows by. It has
  /// the result's type.
  mlir::Value factor;
  /// A second convolution of the fusion, added in place of a residual; one of
  /// the two may have a bias.
  ConvOp addend;

  /// Returns the number of moments per row, for a norm.
  int64_t parts() const { return shapeOf(moments).end()[-2]; }
  /// Returns the operand with an element for each of the result's, or null.
  mlir::Value wideOperand() const { return factor ? factor : residual; }
  /// Returns whether `second` is the slope.
  bool storesSlope() const { return second && second != sum; }
  /// Returns whether there is more than operands and a result: moments, sums of
  /// columns, dot products, or a second value for each of the result's.
  bool isExtended() const {
    return norm != NormKind::none || resultMoments || second;
  }
};

/// D[b] = A[b]·B[b], row major; see artifact::Gemm for the fields.
struct GemmInfo : EpilogueInfo {
  mlir::Value a, b;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t strideA = 0, strideB = 0, strideD = 0;
  bool transposeA = false, transposeB = false, tf32 = false;
};

/// See artifact::Conv for the fields. A 1-d convolution has h = r = p = 1.
struct ConvInfo : EpilogueInfo {
  mlir::Value x, w;
  int64_t n = 0, c = 0, h = 1, width = 0;
  int64_t k = 0, r = 1, s = 0, p = 1, q = 0;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  bool channelsLast = false, tf32 = false;
};

/// Describe a contraction without epilogue, or say why strides cannot express
/// it.
Match<GemmInfo> describeMatmul(MatmulOp op);
Match<ConvInfo> describeConv(ConvOp op);

/// Describes the `addend` of a convolution, which must have one.
ConvInfo describeAddend(const ConvInfo &conv);

/// Describes a convolution that is one product of all pixels and all filters:
/// 1×1 filters, no padding or strides, channels last, no addend.
std::optional<GemmInfo> pointwiseGemm(const ConvInfo &conv);

/// Describes what `operators` do to the result of `contraction`. Each reads its
/// predecessor; the first may be a convolution that the next one adds.
Match<EpilogueInfo>
describeEpilogue(mlir::Operation *contraction,
                 llvm::ArrayRef<mlir::Operation *> operators);

/// Returns the two convolutions that `op`, an nn.add, adds and nothing else
/// reads, if it adds such. A target may compute all three in one kernel.
std::optional<std::pair<ConvOp, ConvOp>> addedConvolutions(mlir::Operation *op);

/// Two back-to-back convolutions with their epilogues. The second is pointwise
/// and the only reader of the first's result.
struct ConvB2bInfo {
  ConvInfo first, last;
};

/// Describes `operators` as such; each reads its predecessor.
Match<ConvB2bInfo> describeConvB2b(llvm::ArrayRef<mlir::Operation *> operators);

/// Returns the multiplications and additions of a contraction or attention;
/// otherwise 0.
int64_t countFlops(mlir::Operation *op);

/// Describe a whole fusion. Its first result ends the chain. Its second, if
/// any, is moments or sums of the first or the activation's operand or slope.
/// Its operands are all of its arguments.
Match<GemmInfo> describeGemm(FusionOp fusion);
Match<ConvInfo> describeConvolution(FusionOp fusion);
Match<ConvB2bInfo> describeConvB2b(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONTRACTIONINFO_H
