//===- Skeleton.cpp - The registry of skeletons ---------------------------===//

#include "codegen/cuda/target/Skeleton.h"

#include <vector>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

void Offers::add(nn::Schedule schedule) {
  if (!llvm::is_contained(schedules, schedule))
    schedules.push_back(schedule);
}

void Offers::addAlternative(nn::Schedule schedule) {
  if (wantsSeveral() && !llvm::is_contained(schedules, schedule) &&
      !llvm::is_contained(alternatives, schedule))
    alternatives.push_back(schedule);
}

Chain::Chain(ArrayRef<Operation *> operators)
    : operators(operators), convB2b(nn::describeConvB2b(operators)),
      epilogue(convB2b ? nn::Mismatch("a convolution follows it")
               : isa<nn::QuantizedConvOp>(operators.front())
                   ? nn::Mismatch("its sums are integers")
                   : nn::describeEpilogue(operators.front(),
                                          operators.drop_front())) {}

namespace {
/// Creates one skeleton for each of the dialect's attributes.
template <class... Attrs> struct MakeAll {
  static std::vector<std::unique_ptr<Skeleton>> make() {
    std::vector<std::unique_ptr<Skeleton>> made;
    (made.push_back(makeSkeleton<Attrs>()), ...);
    return made;
  }
};
using EverySkeleton = MakeAll<
#define GET_ATTRDEF_LIST
#include "codegen/cuda/target/Attributes.cpp.inc"
    >;
} // namespace

ArrayRef<std::unique_ptr<Skeleton>> frit::cuda::skeletons() {
  static const std::vector<std::unique_ptr<Skeleton>> all =
      EverySkeleton::make();
  return all;
}

const Skeleton *frit::cuda::skeletonOf(nn::Schedule schedule) {
  for (const std::unique_ptr<Skeleton> &skeleton : skeletons())
    if (skeleton->owns(schedule))
      return skeleton.get();
  return nullptr;
}

/// Microseconds per kernel in a chain of almost empty kernels, measured on an
/// H200.
static constexpr double kLaunchTime = 1.3;

nn::Legality frit::cuda::checkBlocks(int64_t blocks, int64_t needed) {
  // Blocks load operands of their first tile without asking whether there is
  // one.
  if (blocks > needed)
    return nn::Mismatch("it has more blocks than tiles");
  return std::nullopt;
}

nn::StepCost frit::cuda::costOfMemory(nn::FusionOp fusion, int64_t perThread,
                                      const GpuArch &arch) {
  double bytes = 0, most = 0;
  auto count = [&](Value value) {
    auto type = nn::tensorType(value);
    double elements = double(type.getNumElements());
    bytes += elements * type.getElementTypeBitWidth() / 8;
    most = std::max(most, elements);
  };
  llvm::for_each(fusion.getInputs(), count);
  llvm::for_each(fusion.getResults(), count);
  double threads = most / double(perThread);
  return {kLaunchTime + bytes / arch.l2Rate,
          std::min(1.0, threads / double(arch.threadsOf(arch.threadsPerSm)))};
}
