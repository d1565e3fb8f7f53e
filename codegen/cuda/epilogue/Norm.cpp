//===- Norm.cpp - Norms by moments in an epilogue -------------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/scalar/KernelText.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Norm;

/// Lanes that merge the moments of a row, in equal parts.
static constexpr int64_t kMomentLanes = 4;

namespace {
class NormCode : public StageCode {
public:
  explicit NormCode(const Norm &norm) : norm(norm) {}

private:
  nn::Legality check(const nn::GemmInfo &product, Type) const override {
    if (product.batch != 1 || product.ldd != product.n)
      return nn::Mismatch("it normalizes rows of several matrices");
    if (!elementType(norm.column).isF32() || !elementType(norm.moments).isF32())
      return nn::Mismatch("its moments are not f32");
    if (norm.parts() != 1 && norm.parts() % kMomentLanes != 0)
      return nn::Mismatch("lanes cannot share the moments of a row equally");
    return std::nullopt;
  }
  std::string fields() const override {
    std::string constants = llvm::formatv(
        "  using Norm = frit::{0};\n"
        "  static constexpr float epsilon = {1:e9};\n",
        norm.of == Norm::Of::product ? "NormOfProduct" : "NormOfResidual",
        norm.epsilon);
    return constants + constantsText("int", {{"parts", norm.parts()},
                                             {"partWidth", norm.width}});
  }
  StringRef words() const override {
    return norm.of == Norm::Of::product ? "norm" : "norm-residual";
  }

  const Norm &norm;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Norm &norm) {
  return std::make_unique<NormCode>(norm);
}
