//===- CublasGemm.cpp - Matrix products by cuBLASLt -----------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/library/LibraryCall.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Whether cuBLASLt computes a product and what follows it.
static bool takes(const nn::EpilogueInfo &info, const Machine &machine) {
  Type type = nn::tensorType(info.product).getElementType();
  // cuBLASLt's GELU is the one with tanh.
  bool activates = info.activation == Activation::none ||
                   info.activation == Activation::relu ||
                   (info.activation == Activation::geluTanh && !type.isF64());
  return machine.cublas && isa<FloatType>(type) && !info.mixed &&
         !info.hasMoments() && activates;
}

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
class CublasGemm : public LibraryCallOf<CublasGemmAttr> {
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction || !problem.gemm() ||
        !takes(*problem.gemm(), machine))
      return std::nullopt;
    auto call = CublasGemmAttr::get(problem.context(), /*algorithm=*/0,
                                    *problem.decideOnce(chooseTiles, machine));
    if (usesWgmmaGemm(problem, machine))
      offers.addAlternative(call);
    else
      offers.add(call);
    return std::nullopt;
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return isa<nn::MatmulOp>(chain.contraction()) && chain.epilogue &&
           takes(*chain.epilogue, machine);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CublasGemmAttr>() {
  return std::make_unique<CublasGemm>();
}
