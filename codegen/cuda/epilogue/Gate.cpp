//===- Gate.cpp - Gated columns of a product ------------------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Gate;

namespace {
class GateCode : public StageCode {
public:
  explicit GateCode(const Gate &gate) : gate(gate) {}

private:
  nn::Legality check(const nn::GemmInfo &product, Type result) const override {
    if (product.batch != 1 || product.ldd != product.n)
      return nn::Mismatch("it gates columns of several matrices");
    if (!isHalf(result) || elementType(product.a) != result)
      return nn::Mismatch("its gated columns are not 16-bit floats");
    if (product.n % nn::kGatedColumns != 0)
      return nn::Mismatch("its columns are no whole groups of gates");
    return std::nullopt;
  }
  void addNeeds(const nn::Epilogue &, EndNeeds &needs) const override {
    needs.sumsPerResult = 2;
  }
  std::string fields() const override {
    return ("  using Gate = frit::" + functor() + ";\n").str();
  }
  StringRef words() const override {
    switch (gate.activation) {
    case Activation::silu:
      return "gate-silu";
    case Activation::geluTanh:
      return "gate-gelu-tanh";
    default:
      return "gate-gelu";
    }
  }

  /// Returns its function in device code.
  StringRef functor() const {
    switch (gate.activation) {
    case Activation::silu:
      return "Silu";
    case Activation::geluTanh:
      return "GeluTanh";
    default:
      return "GeluTo16Bits";
    }
  }

  const Gate &gate;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Gate &gate) {
  return std::make_unique<GateCode>(gate);
}
