//===- CudnnConv.cpp - Convolutions by cuDNN ------------------------------===//

#include "codegen/cuda/library/ContractionCall.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
CudnnConvAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t algorithm, Attribute fallback) {
  return verifyCall(emitError, algorithm, fallback);
}

LogicalResult CudnnConvAttr::buildStep(ImplicitLocOpBuilder &b,
                                       nn::Problem &problem,
                                       const plan::CallBuffers &buffers) const {
  return plan::buildConv(b, problem, libraryAlgorithm(), buffers);
}

namespace {
class CudnnConv
    : public ContractionCall<CudnnConvAttr, nn::ConvOp, nn::ConvInfo> {
  const nn::Match<nn::ConvInfo> &infoOf(Problem &problem) const override {
    return problem.conv();
  }
  bool isUsed(const Machine &machine) const override { return machine.cudnn; }
  bool takes(const nn::Epilogue &epilogue) const override {
    Type type = nn::tensorType(epilogue.product).getElementType();
    bool activates = epilogue.activation() == Activation::none ||
                     epilogue.activation() == Activation::relu;
    return isa<FloatType>(type) && !type.isF64() && !epilogue.isMixed() &&
           !epilogue.addend && !epilogue.isExtended() && activates &&
           (!epilogue.bias() ||
            nn::tensorType(epilogue.bias()).getElementType() == type);
  }
  /// Returns whether frit's kernel is faster: cuDNN is slow for some grouped
  /// convolutions (notes/).
  bool prefersKernel(Problem &problem, const nn::ConvInfo &conv,
                     const Machine &machine) const override {
    return usesWgmmaGemm(problem, machine) || usesWgmmaConv(problem, machine) ||
           hasFastGroups(conv);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CudnnConvAttr>() {
  return std::make_unique<CudnnConv>();
}
