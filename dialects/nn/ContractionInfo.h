//===- ContractionInfo.h - What a library would be asked for -----------------===//

#ifndef FRIT_DIALECTS_NN_CONTRACTIONINFO_H
#define FRIT_DIALECTS_NN_CONTRACTIONINFO_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// What a contraction ends with; the order of frit/artifact.h's Activation.
enum class Epilogue { none, relu, geluTanh, gelu, silu };

/// A fusion taken apart as act(A·B + bias + residual), or the same with a
/// convolution. Operands are arguments of the fusion's block.
struct ContractionInfo {
  mlir::Operation *contraction = nullptr; ///< a MatmulOp or a ConvOp
  mlir::Value a, b;                       ///< x and w of a convolution
  mlir::Value bias;                       ///< per column of D, or per channel
  mlir::Value residual;                   ///< shaped like the result
  Epilogue activation = Epilogue::none;

  // Of a matmul only; see artifact::Gemm.
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t ld[3] = {}, strides[3] = {}; ///< of A, B and D
  bool transposeA = false, transposeB = false;

  /// The operands in the order library and fallback take them.
  llvm::SmallVector<mlir::Value> operands() const;
};

/// Takes `fusion` apart, or says in `why` what does not fit.
llvm::FailureOr<ContractionInfo> analyzeContraction(FusionOp fusion,
                                                    std::string *why = nullptr);

/// Whether `next` can follow `fused` (a matmul or conv first) as a library's
/// epilogue: a bias, a residual, then an activation.
bool extendsContraction(llvm::ArrayRef<mlir::Operation *> fused,
                        mlir::Operation *next);

/// Makes the inputs of a fusion that `analyzeContraction` takes exactly
/// `operands()`, in that order, so that its kernel is called as the library is.
void orderContractionInputs(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONTRACTIONINFO_H
