//===- Contraction.h - Fusions of a contraction ---------------------------===//
//
// Describes fusions around a matmul or conv that a library or one of our tiled
// kernels computes in one call:
//
//   D = activation(A·B + bias + R)      y = activation(conv(x, w) + bias + R)
//
// and more that EndStage.h lists: norms, statistics of D, a second result.
// A convolution and a pointwise one of its result may form one fusion
// (back-to-back).
//
// Planning reads the problem's sizes and operands. Targets ask whether a
// fusion, also with one more operator, has this form.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CONTRACTION_CONTRACTION_H
#define FRIT_DIALECTS_NN_CONTRACTION_CONTRACTION_H

#include "dialects/nn/contraction/EndStage.h"

namespace frit::nn {

/// What a kernel makes of rows of A before it multiplies them:
/// a · scale / sqrt(mean(a²) + epsilon).
struct RowNorm {
  mlir::Value scale; ///< an element for each of a row
  double epsilon;
};

/// D[b] = A[b]·B[b], row major; see artifact::Gemm for the fields.
struct GemmInfo {
  mlir::Value a, b;
  Epilogue epilogue;
  /// The norm of rows of A, if the kernel computes one.
  std::optional<RowNorm> norm;
  /// A second matrix of B's shape, or null. Its product with A, rounded to its
  /// type, is the epilogue's residual.
  mlir::Value pairedB;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t strideA = 0, strideB = 0, strideD = 0;
  bool transposeA = false, transposeB = false, tf32 = false;
};

/// See artifact::Conv for the fields. A 1-d convolution has h = r = p = 1.
struct ConvInfo {
  mlir::Value x, w;
  Epilogue epilogue;
  int64_t n = 0, c = 0, h = 1, width = 0;
  int64_t k = 0, r = 1, s = 0, p = 1, q = 0;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  bool channelsLast = false, tf32 = false;
};

/// Describe a contraction without epilogue, or say why strides cannot express
/// it. A product whose B is quantized or sparse has a description of its own,
/// so that no kernel takes codes for numbers; its `b` is what nn.dequantize or
/// nn.decompress returns.
Match<GemmInfo> describeMatmul(MatmulOp op);
Match<GemmInfo> describeQuantizedMatmul(MatmulOp op);
Match<GemmInfo> describeSparseMatmul(MatmulOp op);
Match<ConvInfo> describeConv(ConvOp op);

/// Returns whether an operator multiplies floats of 8 bits, not bytes.
inline bool multipliesFloats(QuantizedConvOp op) {
  return mlir::isa<mlir::FloatType>(tensorType(op.getX()).getElementType());
}
/// Returns whether an operator computes more than Σ (x - x_zero) · (w -
/// w_zero).
inline bool hasEnd(QuantizedConvOp op) {
  return op.getOffset() || op.getScale();
}
/// Creates an operator that computes these sums alone.
QuantizedConvOp createSums(NNBuilder &b, QuantizedConvOp op);

/// Describes the `addend` of a convolution, which must have one.
ConvInfo describeAddend(const ConvInfo &conv);

/// Describes a convolution that is one product of all pixels and all filters:
/// 1×1 filters, no padding or strides, channels last, no addend.
std::optional<GemmInfo> pointwiseGemm(const ConvInfo &conv);

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

/// Returns operators except constants and those that compute an operand of a
/// contraction in its kernel.
llvm::SmallVector<mlir::Operation *>
chainOf(llvm::ArrayRef<mlir::Operation *> operators);

/// Describe a whole fusion. Its first result ends the chain. Its second, if
/// any, is a statistic of the first or the activation's operand or slope.
/// Its operands are all of its arguments.
Match<GemmInfo> describeGemm(FusionOp fusion);
/// Likewise describes a fusion that also computes operands of the product: B by
/// nn.dequantize, A by nn.rms_norm, or the residual by another product of A.
Match<GemmInfo> describePreparedGemm(FusionOp fusion);
/// Describes a product without epilogue whose kernel computes those of its
/// operands that are results of `operators`.
Match<GemmInfo> describePrepared(MatmulOp op,
                                 llvm::ArrayRef<mlir::Operation *> operators);
/// Describes two such products of the same A and the chain of elementwise
/// operators that begins at one of them and reads the other. `operators`, in
/// the order of the program, include those that compute operands.
Match<GemmInfo> describePair(llvm::ArrayRef<mlir::Operation *> operators);
Match<ConvInfo> describeConvolution(FusionOp fusion);
Match<ConvB2bInfo> describeConvB2b(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONTRACTION_CONTRACTION_H
