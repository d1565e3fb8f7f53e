//===- ContractionInfo.h - Fusions that are one product or convolution ----===//
//
// A fusion around a matmul or conv may be what a library or one of our tiled
// kernels computes in one go:
//
//   D = activation(A·B + bias + R)      y = activation(conv(x, w) + bias + R)
//
// and, of a product, what makes it a product of normalised rows or adds a
// normalised residual, and the moments of D's rows on the way (nn.moments); of
// a convolution, another one in R's place, of another tensor and other filters.
// A convolution and a pointwise one of all that this has made may be one too.
//
// Planning asks here for the problem's sizes and operands, targets whether a
// fusion, or one that another operator would join, has this form.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CONTRACTIONINFO_H
#define FRIT_DIALECTS_NN_CONTRACTIONINFO_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

namespace frit::nn {

/// In the artifact's order; `other` is any elementwise function of the sum.
enum class ActivationKind { none, relu, geluTanh, gelu, silu, other };

/// What is normalised by moments in an epilogue: A's rows, by
/// nn.normalize_product right behind the product, or the residual, by
/// nn.normalize.
enum class NormKind { none, product, residual };

/// What follows a contraction. Values are of the fusion's body.
struct EpilogueInfo {
  mlir::Value bias, residual;
  ActivationKind activation = ActivationKind::none;
  /// Whether the result is not activation(product + bias + residual) but
  /// another elementwise function of the three, which may change the type. Only
  /// our own kernels compute such a one.
  bool mixed = false;
  /// What the contraction results in, a convolution's with its bias.
  mlir::Value product;
  /// What the activation's operators are applied to, and what they result in.
  mlir::Value sum, result;
  /// Of a norm: the moments it is by, each of `width` elements of a row, and
  /// its vector with an element per column.
  NormKind norm = NormKind::none;
  mlir::Value moments, column;
  int64_t width = 0;
  double epsilon = 0;
  /// The moments of the result's rows where they are wanted too.
  mlir::Value resultMoments;
  int64_t resultWidth = 0;
  /// A convolution in the same fusion that is added where else a residual would
  /// be; one of the two may have a bias.
  ConvOp addend;

  /// Of a norm: how many moments a row has.
  int64_t parts() const { return shapeOf(moments).end()[-2]; }
  bool hasMoments() const { return norm != NormKind::none || resultMoments; }
};

/// D[b] = A[b]·B[b], row major; see artifact::Gemm for the fields.
struct GemmInfo : EpilogueInfo {
  MatmulOp op;
  mlir::Value a, b;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t strideA = 0, strideB = 0, strideD = 0;
  bool transposeA = false, transposeB = false;
};

/// See artifact::Conv for the fields; a convolution along one dimension has
/// h = r = p = 1.
struct ConvInfo : EpilogueInfo {
  ConvOp op;
  mlir::Value x, w;
  int64_t n = 0, c = 0, h = 1, width = 0;
  int64_t k = 0, r = 1, s = 0, p = 1, q = 0;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  bool channelsLast = false;
};

/// The sizes of a product alone, or why strides cannot express it.
Match<GemmInfo> describeMatmul(MatmulOp op);
Match<ConvInfo> describeConv(ConvOp op);

/// What is added to a convolution in its fusion, its `addend`; which it has.
ConvInfo describeAddend(const ConvInfo &conv);

/// A convolution that is one product of all pixels by all filters: of one cell,
/// without padding or strides, channels last, with no other added. Its `op` is
/// null.
std::optional<GemmInfo> pointwiseGemm(const ConvInfo &conv);

/// What `operators`, each of which reads the one before it, do to the result of
/// `contraction`. The first may be a convolution that the next adds.
Match<EpilogueInfo>
describeEpilogue(mlir::Operation *contraction,
                 llvm::ArrayRef<mlir::Operation *> operators);

/// A convolution and, with what follows each, the pointwise one that alone
/// reads the result of that.
struct ConvB2bInfo {
  ConvInfo first, last;
};

/// `operators`, each of which reads the one before it, as such.
Match<ConvB2bInfo> describeConvB2b(llvm::ArrayRef<mlir::Operation *> operators);

/// Multiplications and additions of a contraction or attention; else 0.
int64_t countFlops(mlir::Operation *op);

/// The whole of a fusion, whose first result ends the chain, whose second, if
/// any, has that one's moments, and whose operands are all the fusion's
/// arguments.
Match<GemmInfo> describeGemm(FusionOp fusion);
Match<ConvInfo> describeConvolution(FusionOp fusion);
Match<ConvB2bInfo> describeConvB2b(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONTRACTIONINFO_H
