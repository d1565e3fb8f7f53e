//===- CustomKernel.cpp - The skeleton of users' kernels ------------------===//
//
// There is no text to emit: the kernel is in the user's file, which becomes a
// module of its own.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/custom/UserText.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/operators/Custom.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns a constant's bits as the kernel's parameter holds them.
static int64_t bitsOf(Attribute constant) {
  if (auto real = dyn_cast<FloatAttr>(constant))
    return int64_t(real.getValue().bitcastToAPInt().getZExtValue());
  return cast<IntegerAttr>(constant).getInt();
}

/// Returns whether the GPU has the shared memory that a block needs.
static nn::Legality fits(nn::CustomOp custom, const GpuArch &arch) {
  int64_t bytes = custom.getSharedBytes();
  if (bytes <= arch.sharedPerBlock)
    return std::nullopt;
  return nn::Mismatch("a block of the user's kernel asks for " + Twine(bytes) +
                      " bytes of shared memory, and " + arch.name +
                      " has at most " + Twine(arch.sharedPerBlock));
}

namespace {
class CustomKernel : public SkeletonOf<CustomAttr, nn::CustomOp> {
public:
  double compileMilliseconds() const override { return 20; }
  nn::Legality offer(Problem &problem, const Machine &,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::custom)
      offers.add(CustomAttr::get(problem.context()));
    return std::nullopt;
  }

protected:
  /// Its cost is unknown, so it runs alone.
  std::optional<nn::StepCost> costOf(Problem &, CustomAttr,
                                     const Machine &) const override {
    return std::nullopt;
  }

  nn::Match<nn::CustomOp> fit(Problem &problem, CustomAttr,
                              const Machine &machine) const override {
    auto custom =
        dyn_cast<nn::CustomOp>(problem.fusion().getBody().front().front());
    if (!custom)
      return nn::Mismatch("it is no user's kernel");
    if (nn::Legality why = fits(custom, machine.arch))
      return *why;
    return custom;
  }
  KernelText print(nn::CustomOp &custom, Problem &, CustomAttr,
                   StringRef) const override {
    KernelText text;
    llvm::copy(custom.getGrid(), text.grid);
    llvm::copy(custom.getBlock(), text.block);
    text.sharedBytes = custom.getSharedBytes();
    text.waits = false;
    for (Attribute constant : custom.getConstants())
      text.scalars.push_back(bitsOf(constant));
    text.symbol = custom.getCustom().getDevice().getName().str();
    addUserKernel(text, custom);
    return text;
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CustomAttr>() {
  return std::make_unique<CustomKernel>();
}
