//===- ScheduleContraction.cpp - Who multiplies, and in which tiles -------===//

#include "codegen/cuda/contraction/EmitContraction.h"
#include "codegen/cuda/contraction/EmitConvB2b.h"
#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/target/Tuning.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Tiles of gemm.cuh and conv.cuh: 128 where they still give every
/// multiprocessor one.
static int64_t tileFor(int64_t m, int64_t n, int64_t batch) {
  int64_t large = ceilDiv(m, 128) * ceilDiv(n, 128) * batch;
  return m >= 128 && n >= 128 && large >= 132 ? 128 : 64;
}

/// Of gemm.cuh and conv.cuh.
static nn::ScheduleAttr tiledSchedule(MLIRContext *context,
                                      nn::Skeleton skeleton, int64_t tile,
                                      bool library) {
  return nn::ScheduleAttr::get(context, skeleton, /*vector=*/1,
                               /*threads=*/256, /*perThread=*/1, library, tile,
                               tile, /*tileK=*/0, /*stages=*/0, /*cluster=*/1,
                               /*split=*/1, /*algorithm=*/0);
}

static nn::ScheduleAttr wgmmaSchedule(MLIRContext *context,
                                      nn::Skeleton skeleton,
                                      const WgmmaTile &tile, bool library) {
  return nn::ScheduleAttr::get(context, skeleton, /*vector=*/1, tile.threads(),
                               /*perThread=*/1, library, tile.m, tile.n,
                               WgmmaTile::depth, tile.stages, tile.cluster,
                               tile.split, /*algorithm=*/0);
}

bool frit::cuda::libraryTakes(const nn::EpilogueInfo &info,
                              const CudaOptions &options) {
  using Kind = nn::ActivationKind;
  Type type = nn::tensorType(info.product).getElementType();
  if (!isa<FloatType>(type) || info.mixed || info.hasMoments() || info.addend)
    return false;
  bool simple = info.activation == Kind::none || info.activation == Kind::relu;
  if (isa<nn::ConvOp>(info.product.getDefiningOp()))
    return options.cudnn && simple && !type.isF64();
  // cuBLASLt's GELU is the one with tanh.
  return options.cublas &&
         (simple || (info.activation == Kind::geluTanh && !type.isF64()));
}

/// Whether conv.cuh multiplies the groups of a convolution by tensor cores and
/// fills enough of its tiles: cuDNN is slow at those (README.md).
static bool hasFastGroups(const nn::ConvInfo &conv) {
  constexpr int64_t fewest = 24;
  int64_t channels = conv.c / conv.groups;
  return conv.groups > 1 && conv.channelsLast && channels >= fewest &&
         channels % 8 == 0 && isHalf(nn::tensorType(conv.x).getElementType());
}

bool frit::cuda::hasWgmma(const CudaOptions &options) {
  return options.arch == "sm_90a";
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {

/// A fusion that is one contraction, as one product of tiles.
struct Contraction {
  nn::GemmInfo product;
  nn::Skeleton skeleton = nn::Skeleton::gemm;
  nn::Skeleton wgmmaSkeleton = nn::Skeleton::wgmma_gemm;
  /// Whether a library may take it, and whether it does unless told otherwise.
  bool wgmma = false, library = false, prefersLibrary = true;
  int64_t tile = 64;
};

nn::Match<Contraction> describe(nn::FusionOp fusion,
                                const CudaOptions &options) {
  Contraction result;
  Type type = nn::tensorType(fusion.getResult(0)).getElementType();
  if (isa<nn::ConvOp>(fusion.getAnchor())) {
    auto info = nn::describeConvolution(fusion);
    if (!info)
      return info.mismatch();
    auto pointwise = nn::pointwiseGemm(*info);
    result.product = pointwise ? *pointwise : impliedGemm(*info);
    result.skeleton = nn::Skeleton::conv;
    if (!pointwise)
      result.wgmmaSkeleton = nn::Skeleton::wgmma_conv;
    result.wgmma = pointwise ? takesWgmma(*pointwise, type) : takesWgmma(*info);
    result.prefersLibrary = !hasFastGroups(*info);
    result.tile = tileFor(info->n * info->p * info->q, info->k / info->groups,
                          info->groups);
  } else {
    auto info = nn::describeGemm(fusion);
    if (!info)
      return info.mismatch();
    result.product = *info;
    result.wgmma = takesWgmma(*info, type);
    result.tile = tileFor(info->m, info->n, info->batch);
  }
  result.wgmma &= hasWgmma(options);
  if (result.product.addend && !result.wgmma)
    return nn::Mismatch(
        "two convolutions in one kernel need warpgroup products");
  result.library = libraryTakes(result.product, options);
  return result;
}

} // namespace

SmallVector<nn::ScheduleAttr>
frit::cuda::contractionSchedules(nn::FusionOp fusion,
                                 const CudaOptions &options, unsigned most,
                                 std::string &reason) {
  if (auto chain = nn::describeConvB2b(fusion)) {
    if (takesConvB2b(*chain, options))
      return {scheduleConvB2b(*chain)};
    reason = "two convolutions, one after the other, do not pay or do not fit "
             "in one kernel";
    return {};
  }
  auto found = describe(fusion, options);
  if (!found) {
    reason = found.reason();
    return {};
  }
  MLIRContext *context = fusion.getContext();
  auto tiled = [&](int64_t tile, bool library) {
    return tiledSchedule(context, found->skeleton, tile, library);
  };
  if (!found->wgmma) {
    bool library = found->library && found->prefersLibrary;
    SmallVector<nn::ScheduleAttr> schedules = {tiled(found->tile, library)};
    if (most > 1) {
      if (found->library)
        schedules.push_back(tiled(found->tile, !library));
      schedules.push_back(tiled(found->tile == 64 ? 128 : 64, false));
    }
    return schedules;
  }
  Type type = nn::tensorType(fusion.getResult(0)).getElementType();
  SmallVector<nn::ScheduleAttr> schedules;
  for (const WgmmaPick &pick :
       rankWgmmaTiles(found->product, type.getIntOrFloatBitWidth() / 8, most))
    schedules.push_back(
        wgmmaSchedule(context, found->wgmmaSkeleton, pick.tile, false));
  if (found->library && most > 1)
    schedules.push_back(tiled(found->tile, true));
  return schedules;
}

nn::ScheduleAttr frit::cuda::scheduleContraction(nn::FusionOp fusion,
                                                 const CudaOptions &options,
                                                 std::string &reason) {
  if (options.tuning) {
    auto all = contractionSchedules(fusion, options, ~0u, reason);
    if (nn::ScheduleAttr tuned =
            options.tuning->pick(fusion, all, options.arch))
      return tuned;
  }
  auto schedules = contractionSchedules(fusion, options, 1, reason);
  return schedules.empty() ? nullptr : schedules.front();
}

bool frit::cuda::takesEpilogue(Operation *contraction,
                               const nn::EpilogueInfo &info,
                               const CudaOptions &options) {
  if (libraryTakes(info, options))
    return true;
  // What no library has joins where our own kernel is as fast.
  bool isConv = isa<nn::ConvOp>(contraction);
  if (!(isConv ? options.cudnn : options.cublas) && !info.hasMoments() &&
      !info.addend)
    return true;
  if (auto conv = dyn_cast<nn::ConvOp>(contraction)) {
    auto shape = nn::describeConv(conv);
    if (!shape)
      return false;
    if (hasFastGroups(*shape))
      return !info.addend;
    static_cast<nn::EpilogueInfo &>(*shape) = info;
    return hasWgmma(options) && takesWgmma(*shape);
  }
  if (!hasWgmma(options))
    return false;
  auto shape = nn::describeMatmul(cast<nn::MatmulOp>(contraction));
  if (!shape)
    return false;
  static_cast<nn::EpilogueInfo &>(*shape) = info;
  return takesWgmma(*shape, nn::tensorType(info.result).getElementType());
}
