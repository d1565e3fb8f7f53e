//===- Cost.cpp - How long kernels take beside others ---------------------===//
//
// Estimates for deciding which kernels run beside each other, where what counts
// is how much of the machine a kernel leaves idle: products by the model that
// their tiles are chosen by, everything else by the bytes it moves.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/contraction/EmitContraction.h"
#include "codegen/cuda/contraction/Wgmma.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

// Of an H200, whose multiprocessors Wgmma.h counts.

/// What a kernel takes that hardly does anything, in a chain of such, and what
/// a product takes until its first operands have come, microseconds.
static constexpr double kLaunchTime = 1.3, kFillTime = 1.5;
/// Bytes per microsecond, most of them from the second-level cache.
static constexpr double kMoveBytes = 5e6;
/// Threads of a multiprocessor.
static constexpr double kThreads = 2048;
/// Multiplications and additions per microsecond of a multiprocessor with
/// operands of 16 bits, TF32 and f32, in tiles of gemm.cuh and conv.cuh.
static constexpr double kHalfRate = 3e6, kTf32Rate = 1.5e6, kFloatRate = 0.25e6;

/// What branches cost on an H200: test/bench/graph_edges.cu measures it.
static constexpr nn::BranchCosts kBranchCosts = {/*fork=*/0.5, /*join=*/0.45};

std::optional<nn::BranchCosts> CudaTarget::branchCosts() const {
  if (!waitsForInputs(options.arch))
    return std::nullopt;
  return kBranchCosts;
}

/// The product that a contraction is, as its tiles see it.
static nn::Match<nn::GemmInfo> productOf(nn::FusionOp fusion) {
  if (!isa<nn::ConvOp>(fusion.getAnchor()))
    return nn::describeGemm(fusion);
  auto conv = nn::describeConvolution(fusion);
  if (!conv)
    return conv.mismatch();
  if (auto pointwise = nn::pointwiseGemm(*conv))
    return *pointwise;
  nn::GemmInfo product = impliedGemm(*conv);
  if (conv->groups > 1) {
    product.batch = conv->groups;
    product.n = conv->k / conv->groups;
    product.k = conv->r * conv->s * conv->c / conv->groups;
  }
  return product;
}

static nn::StepCost costOfWgmma(const nn::GemmInfo &product,
                                nn::ScheduleAttr schedule, Type result) {
  WgmmaTile tile = wgmmaTileOf(schedule);
  double places = double(kMultiprocessors * tile.resident);
  return {wgmmaMicroseconds(product, tile, result.getIntOrFloatBitWidth() / 8),
          tile.blocks(product) / places};
}

static nn::StepCost costOfTiles(const nn::GemmInfo &product, bool tf32,
                                nn::ScheduleAttr schedule, Type element) {
  // Schedules of tests may say nothing of tiles.
  int64_t m = std::max<int64_t>(schedule.getTileM(), 1);
  int64_t n = std::max<int64_t>(schedule.getTileN(), 1);
  double blocks =
      double(ceilDiv(product.m, m) * ceilDiv(product.n, n) * product.batch);
  double rate = element.getIntOrFloatBitWidth() <= 16 ? kHalfRate
                : tf32                                ? kTf32Rate
                                                      : kFloatRate;
  double turns = std::ceil(blocks / kMultiprocessors);
  return {kFillTime + turns * 2.0 * m * n * product.k / rate,
          blocks / kMultiprocessors};
}

static double bytesOf(ValueRange values) {
  double bytes = 0;
  for (Value value : values) {
    auto type = nn::tensorType(value);
    bytes += double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Of a kernel that memory bounds.
static nn::StepCost costOfMoves(nn::FusionOp fusion,
                                nn::ScheduleAttr schedule) {
  double bytes = bytesOf(fusion.getInputs()) + bytesOf(fusion.getResults());
  double most = 0;
  for (Value value : fusion->getOperands())
    most = std::max(most, double(nn::tensorType(value).getNumElements()));
  for (Value value : fusion.getResults())
    most = std::max(most, double(nn::tensorType(value).getNumElements()));
  double threads = most / std::max<int64_t>(schedule.getVector(), 1);
  return {kLaunchTime + bytes / kMoveBytes,
          threads / (kMultiprocessors * kThreads)};
}

std::optional<nn::StepCost> CudaTarget::cost(nn::FusionOp fusion) const {
  nn::ScheduleAttr schedule = fusion.getScheduleAttr();
  if (!schedule || schedule.getLibrary() || !waitsForInputs(options.arch))
    return std::nullopt;
  Type result = nn::tensorType(fusion.getResult(0)).getElementType();
  nn::StepCost cost;
  switch (schedule.getSkeleton()) {
  case nn::Skeleton::wgmma_gemm:
  case nn::Skeleton::wgmma_conv:
  case nn::Skeleton::gemm:
  case nn::Skeleton::conv: {
    auto product = productOf(fusion);
    if (!product)
      return std::nullopt;
    bool wgmma = schedule.getSkeleton() == nn::Skeleton::wgmma_gemm ||
                 schedule.getSkeleton() == nn::Skeleton::wgmma_conv;
    auto conv = dyn_cast<nn::ConvOp>(fusion.getAnchor());
    auto matmul = dyn_cast<nn::MatmulOp>(fusion.getAnchor());
    bool tf32 = (conv && conv.getTf32()) || (matmul && matmul.getTf32());
    cost = wgmma ? costOfWgmma(*product, schedule, result)
                 : costOfTiles(*product, tf32, schedule, result);
    break;
  }
  case nn::Skeleton::conv_b2b:
    cost = {costOfMoves(fusion, schedule).microseconds, /*occupancy=*/1};
    break;
  case nn::Skeleton::attention:
    return std::nullopt;
  default:
    cost = costOfMoves(fusion, schedule);
  }
  cost.occupancy = std::min(cost.occupancy, 1.0);
  return cost;
}
