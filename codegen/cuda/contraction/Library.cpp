//===- Library.cpp - Calls of cuBLASLt and cuDNN --------------------------===//

#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/contraction/Contraction.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
LibraryAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    int64_t algorithm, Attribute fallback) {
  if (failed(require(emitError, algorithm >= 0, "algorithm", "0 or more")))
    return failure();
  auto schedule = dyn_cast_or_null<nn::Schedule>(fallback);
  return require(emitError,
                 !fallback || (schedule && !schedule.isLibraryCall()),
                 "fallback", "the schedule of a kernel");
}

namespace {
/// A library's call. Its kernel is the fallback's.
class Library : public TunedSkeletonOf<LibraryAttr> {
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::attention) {
      // Only timing tells whether cuDNN has a kernel, and how fast it is.
      if (!offers.schedules.empty() && cudnnTakes(problem, machine))
        offers.addAlternative(LibraryAttr::get(
            problem.context(), /*algorithm=*/0, offers.schedules.front()));
      return std::nullopt;
    }
    if (problem.kind() == Problem::Kind::convGradient ||
        problem.kind() == Problem::Kind::attentionGradient) {
      offers.add(LibraryAttr::get(problem.context(), /*algorithm=*/0,
                                  /*fallback=*/nullptr));
      return std::nullopt;
    }
    if (problem.kind() != Problem::Kind::contraction || problem.convB2b())
      return std::nullopt;
    auto product = productOf(problem);
    const nn::Match<nn::Schedule> &fallback =
        problem.decideOnce(chooseTiles, machine);
    if (!product || !fallback || !libraryTakes(*product, machine))
      return std::nullopt;
    auto call = LibraryAttr::get(problem.context(), /*algorithm=*/0, *fallback);
    bool isDefault = !usesWgmmaGemm(problem, machine) &&
                     !usesWgmmaConv(problem, machine) &&
                     prefersLibrary(problem);
    if (isDefault)
      offers.add(call);
    else
      offers.addAlternative(call);
    return std::nullopt;
  }
  std::optional<nn::StepCost> costOf(Problem &problem, LibraryAttr schedule,
                                     const Machine &machine) const override {
    return std::nullopt;
  }
  nn::Match<KernelText> emitText(Problem &problem, LibraryAttr schedule,
                                 StringRef name,
                                 const Machine &machine) const override {
    auto fallback = cast_if_present<nn::Schedule>(schedule.getFallback());
    if (!fallback)
      return nn::Mismatch("only a library computes it");
    const Skeleton *skeleton = skeletonOf(fallback);
    if (!skeleton)
      return nn::Mismatch("its fallback is another target's");
    return skeleton->emit(problem, fallback, name, machine);
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<LibraryAttr>() {
  return std::make_unique<Library>();
}
