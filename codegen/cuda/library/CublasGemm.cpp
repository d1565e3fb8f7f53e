//===- CublasGemm.cpp - Matrix products by cuBLASLt -----------------------===//

#include "codegen/cuda/library/ContractionCall.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
CublasGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t algorithm, Attribute fallback) {
  return verifyCall(emitError, algorithm, fallback);
}

LogicalResult
CublasGemmAttr::buildStep(ImplicitLocOpBuilder &b, nn::Problem &problem,
                          const plan::CallBuffers &buffers) const {
  return plan::buildGemm(b, problem, libraryAlgorithm(), buffers);
}

namespace {
class CublasGemm
    : public ContractionCall<CublasGemmAttr, nn::MatmulOp, nn::GemmInfo> {
  const nn::Match<nn::GemmInfo> &infoOf(Problem &problem) const override {
    return problem.gemm();
  }
  bool isUsed(const Machine &machine) const override { return machine.cublas; }
  bool takes(const nn::Epilogue &epilogue) const override {
    Type type = nn::tensorType(epilogue.product).getElementType();
    // cuBLASLt's GELU is the one with tanh.
    bool activates =
        epilogue.activation() == Activation::none ||
        epilogue.activation() == Activation::relu ||
        (epilogue.activation() == Activation::geluTanh && !type.isF64());
    return isa<FloatType>(type) && !epilogue.isMixed() &&
           !epilogue.isExtended() && activates;
  }
  bool prefersKernel(Problem &problem, const nn::GemmInfo &,
                     const Machine &machine) const override {
    return usesWgmmaGemm(problem, machine);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CublasGemmAttr>() {
  return std::make_unique<CublasGemm>();
}
