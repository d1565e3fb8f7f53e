//===- Load.cpp - Operands of an epilogue ---------------------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Load;

namespace {
class LoadCode : public StageCode {
public:
  explicit LoadCode(const Load &load) : load(load) {}

private:
  nn::Legality check(const nn::GemmInfo &product, Type) const override {
    Type type = elementType(load.value);
    if (load.role == Load::Role::bias && !isHalf(type) && !type.isF32())
      return nn::Mismatch("its bias is neither f32 nor a 16-bit float");
    // The factor is read as a residual would be.
    if (load.role == Load::Role::factor && product.epilogue.residual())
      return nn::Mismatch("it has both a residual and a factor");
    return std::nullopt;
  }
  void addNeeds(const nn::Epilogue &, EndNeeds &needs) const override {
    needs.boxesRead += load.role != Load::Role::bias;
  }
  StringRef words() const override {
    switch (load.role) {
    case Load::Role::bias:
      return "bias";
    case Load::Role::residual:
      return "residual";
    case Load::Role::factor:
      return "";
    }
    llvm_unreachable("no role");
  }

  const Load &load;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Load &load) {
  return std::make_unique<LoadCode>(load);
}
