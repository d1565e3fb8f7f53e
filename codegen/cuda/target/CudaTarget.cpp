//===- CudaTarget.cpp - The target of NVIDIA GPUs -------------------------===//

#include "codegen/cuda/target/CudaTarget.h"

#include "codegen/cuda/target/Skeleton.h"
#include "codegen/cuda/target/Tuning.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/plan/Plan.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

CudaTarget::CudaTarget(CudaOptions options)
    : options(std::move(options)),
      device{this->options.device(),
             this->options.cublas && !this->options.batchInvariant,
             this->options.cudnn && !this->options.batchInvariant,
             this->options.deterministic, this->options.batchInvariant} {}

static bool anySkeleton(llvm::function_ref<bool(const Skeleton &)> takes) {
  return llvm::any_of(skeletons(), [&](const std::unique_ptr<Skeleton> &one) {
    return takes(*one);
  });
}

void CudaTarget::populateRewrites(nn::TargetRewrites &rewrites) const {
  for (const std::unique_ptr<Skeleton> &skeleton : skeletons())
    skeleton->populateRewrites(rewrites, device);
}

bool CudaTarget::keepsWhole(nn::CompositeOp composite) const {
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.keepsWhole(composite, device);
  });
}

bool CudaTarget::canUseView(nn::CompositeOp composite, Type element,
                            const nn::StridedPlaces &places) const {
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.canUseView(composite, element, places);
  });
}

bool CudaTarget::canFuseCodes(nn::MatmulOp product) const {
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.canFuseCodes(product, device);
  });
}

bool CudaTarget::canFuseNorm(nn::MatmulOp product) const {
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.canFuseNorm(product, device);
  });
}

bool CudaTarget::canFusePair(ArrayRef<Operation *> operators) const {
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.canFusePair(operators, device);
  });
}

bool CudaTarget::canFuseEpilogue(ArrayRef<Operation *> fused,
                                 Operation *next) const {
  if (fused.empty())
    return false;
  // Numbers that one kernel passes to another have the bits of the model's type
  // whether something else, such as a choice of rows, lies between or not.
  if (auto cast = dyn_cast<nn::CastOp>(next);
      cast && device.batchInvariant &&
      nn::tensorType(cast.getY()).getElementTypeBitWidth() >
          nn::tensorType(cast.getX()).getElementTypeBitWidth())
    return false;
  SmallVector<Operation *> operators(fused);
  operators.push_back(next);
  Chain chain(operators);
  // The kernel that normalizes a product's rows also ends it.
  auto product = dyn_cast<nn::MatmulOp>(fused.front());
  bool normalizes = product && product.getA().getDefiningOp<nn::RmsNormOp>() &&
                    canFuseNorm(product);
  return anySkeleton([&](const Skeleton &skeleton) {
    return skeleton.takesChain(chain, device) &&
           (!normalizes || skeleton.canFuseNorm(product, device));
  });
}

/// Returns the maximum size of a fusion. An SM caches 128 KiB of instructions
/// of 16 bytes. A larger kernel, computing eight elements at a time, would read
/// its code from L2 repeatedly. Parameters are 4 KiB, of which a pointer takes
/// 8 bytes; the rest is for tensor maps. The largest kernels of the models in
/// test/models have 113 instructions by this count, and 11 tensors.
nn::KernelSize CudaTarget::largestKernel() const {
  return {/*instructions=*/(128 << 10) / (8 * 16), /*tensors=*/384};
}

/// Factor by which kernels as short as those of a guard exceed the time that
/// memory needs at its full rate.
static constexpr double kShortKernels = 1.04;

/// Returns whether the work is worth a guard. A conditional node costs 8 us if
/// its condition is true and 4.5 if not (measured by test/runtime/cuda_test).
/// So a node whose condition is true half of the time pays from 12 us on.
/// Estimates the kernels' time low, with fast memory and tensor cores, so that
/// guarded work certainly takes longer.
bool CudaTarget::guards(const nn::Work &work) const {
  const GpuArch &arch = device.arch;
  double microseconds = 1.5 * double(work.kernels) +
                        double(work.flops) / arch.productRate +
                        double(work.bytes) / (arch.memoryRate / kShortKernels);
  return microseconds > 12;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Cost of branches on an H200, measured by test/bench/graph_edges.cu.
static constexpr nn::BranchCosts kBranchCosts = {/*fork=*/0.5, /*join=*/0.45};

std::optional<nn::BranchCosts> CudaTarget::branchCosts() const {
  if (!device.arch.hasPdl)
    return std::nullopt;
  return kBranchCosts;
}

std::optional<nn::StepCost> CudaTarget::cost(nn::FusionOp fusion) const {
  nn::Schedule schedule = fusion.getScheduleAttr();
  const Skeleton *skeleton = schedule ? skeletonOf(schedule) : nullptr;
  if (!skeleton || !device.arch.hasPdl)
    return std::nullopt;
  Problem problem(fusion);
  std::optional<nn::StepCost> cost = skeleton->cost(problem, schedule, device);
  if (cost) {
    // Sets of arguments run beside each other until they fill the device.
    double filled = cost->occupancy * double(plan::batchOf(fusion));
    cost->microseconds *= std::max(filled, 1.0);
    cost->occupancy = std::min(filled, 1.0);
  }
  return cost;
}

void CudaTarget::getDialects(DialectRegistry &registry) const {
  registry.insert<CudaDialect>();
}

SmallVector<nn::Schedule> CudaTarget::candidates(nn::FusionOp fusion,
                                                 unsigned most) const {
  Problem problem(fusion);
  SmallVector<nn::Schedule> all = candidates(problem, most);
  llvm::erase_if(all, [&](nn::Schedule schedule) {
    return skeletonOf(schedule)->check(problem, schedule, device).has_value();
  });
  return all;
}

SmallVector<nn::Schedule> CudaTarget::candidates(Problem &problem,
                                                 unsigned most) const {
  Offers offers(most);
  for (const std::unique_ptr<Skeleton> &skeleton : skeletons())
    if (skeleton->isTuned())
      (void)skeleton->offer(problem, device, offers);
  llvm::append_range(offers.schedules, offers.alternatives);
  return std::move(offers.schedules);
}

nn::Schedule CudaTarget::schedule(nn::FusionOp fusion) const {
  if (failed(nn::checkHasFunctions(fusion, /*host=*/false, arch())))
    return nullptr;
  Problem problem(fusion);
  if (options.tuning && !options.batchInvariant)
    if (nn::Schedule tuned = options.tuning->pick(
            problem, device.arch, [&] { return candidates(problem, ~0u); });
        tuned && !skeletonOf(tuned)->check(problem, tuned, device))
      return tuned;
  std::string reason;
  for (const std::unique_ptr<Skeleton> &skeleton : skeletons()) {
    Offers offers(/*most=*/1);
    nn::Legality why = skeleton->offer(problem, device, offers);
    if (why && reason.empty())
      reason = why->reason();
    if (offers.schedules.empty())
      continue;
    nn::Schedule chosen = offers.schedules.front();
    if (nn::Legality misfit = skeleton->check(problem, chosen, device)) {
      if (reason.empty())
        reason = misfit->reason();
      continue;
    }
    if (!reason.empty() && skeleton->isGeneric())
      remark::missed(fusion.getLoc(),
                     remark::RemarkOpts::name("Generic").category("schedule"))
          << remark::add("runs as a generic kernel: {0}", reason);
    return chosen;
  }
  emitError(fusion.getLoc()) << "has no CUDA kernel: " << reason;
  return nullptr;
}
