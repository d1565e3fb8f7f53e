//===- CudnnConv.cpp - Convolutions by cuDNN ------------------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/library/LibraryCall.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Whether cuDNN computes a convolution and what follows it.
static bool takes(const nn::EpilogueInfo &info, const Machine &machine) {
  Type type = nn::tensorType(info.product).getElementType();
  bool activates = info.activation == Activation::none ||
                   info.activation == Activation::relu;
  return machine.cudnn && isa<FloatType>(type) && !type.isF64() &&
         !info.mixed && !info.addend && activates;
}

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
class CudnnConv : public LibraryCallOf<CudnnConvAttr> {
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction || !problem.conv() ||
        !takes(*problem.conv(), machine))
      return std::nullopt;
    auto call = CudnnConvAttr::get(problem.context(), /*algorithm=*/0,
                                   *problem.decideOnce(chooseTiles, machine));
    // cuDNN is slow at groups that our kernel is fast at (notes/).
    if (usesWgmmaGemm(problem, machine) || usesWgmmaConv(problem, machine) ||
        hasFastGroups(*problem.conv()))
      offers.addAlternative(call);
    else
      offers.add(call);
    return std::nullopt;
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return isa<nn::ConvOp>(chain.contraction()) && chain.epilogue &&
           takes(*chain.epilogue, machine);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CudnnConvAttr>() {
  return std::make_unique<CudnnConv>();
}
