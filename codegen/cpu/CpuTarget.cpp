//===- CpuTarget.cpp - The CPU target -------------------------------------===//

#include "codegen/cpu/CpuTarget.h"

#include "codegen/cpu/CodedProducts.h"
#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/attention/CodedAttention.h"
#include "codegen/cpu/attention/RangedAttention.h"
#include "dialects/nn/ByteTables.h"
#include "dialects/nn/Problem.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/rewrites/JoinAppends.h"
#include "dialects/nn/rewrites/Layout.h"
#include "dialects/nn/rewrites/TransposeWeights.h"

using namespace mlir;
using namespace frit;

/// Returns whether the runtime has micro-kernels for this element type.
static bool hasKernel(Value operand) {
  Type element = nn::tensorType(operand).getElementType();
  return element.isF32() || element.isF64() || element.isF16() ||
         element.isBF16();
}

bool cpu::CpuTarget::canFuseEpilogue(ArrayRef<Operation *> fused,
                                     Operation *next) const {
  if (isa<nn::QuantizedConvOp>(fused.front()))
    return false;
  auto product = dyn_cast<nn::MatmulOp>(fused.front());
  if (product && canFuseCodes(product))
    return false;
  SmallVector<Operation *> epilogue(fused.drop_front());
  epilogue.push_back(next);
  auto info = nn::describeEpilogue(fused.front(), epilogue);
  return info && !info->addend && info->activation() != Activation::other;
}

/// Returns the maximum size of a fusion. A core caches 1,536 (Skylake) to 4,096
/// (Zen 3) decoded instructions; a loop of this size, unrolled four times,
/// fits. The L1 TLB holds 64 pages, one per tensor. The largest kernels of the
/// models in test/models have 113 instructions by this count, and 11 tensors.
nn::KernelSize cpu::CpuTarget::largestKernel() const {
  return {/*instructions=*/384, /*tensors=*/64};
}

/// Returns whether the work is worth a guard: a few microseconds of one core.
/// The branch itself is free, but a guard keeps the guarded operators out of
/// the kernel that selects their result.
bool cpu::CpuTarget::guards(const nn::Work &work) const {
  double microseconds = double(work.flops) / 5e4 + double(work.bytes) / 1e4;
  return microseconds > 2;
}

/// Rows of a product whose matrix is read once (runtime/cpu/kernels/Gemm.cpp).
static constexpr int64_t kFewRows = 8;
/// Bytes from which it matters, those of a matrix in a small L3, as of an image
/// classifier's last layer, and in a large one if several products read it. A
/// larger one comes from memory, whose rate either order reaches.
static constexpr int64_t kLeastBytes = 64 << 10, kCachedBytes = 8 << 20,
                         kSharedBytes = 16 << 20;
static constexpr size_t kSharedUses = 4;

/// Returns whether a product is faster with rows of B along its columns: on one
/// thread of an EPYC, 1 × 256 × 1024 in f32 takes 12 us instead of 20.
static bool takesTransposed(nn::MatmulOp product, size_t uses) {
  auto info = nn::describeMatmul(product);
  if (!info || info->batch != 1 || info->m > kFewRows || info->n <= kFewRows ||
      !hasKernel(info->b))
    return false;
  int64_t bytes =
      info->n * info->k * nn::tensorType(info->b).getElementTypeBitWidth() / 8;
  return bytes >= kLeastBytes &&
         bytes <= (uses >= kSharedUses ? kSharedBytes : kCachedBytes);
}

/// Returns whether a convolution is faster with channels last: vectors then run
/// along filters, however small the image is, and pixels are read where they
/// lie (runtime/cpu/kernels/Pixels.cpp). Others become loops.
static bool takesChannelsLast(nn::ConvOp conv) {
  auto x = nn::tensorType(conv.getX());
  return x.getElementType().isF32() && x.getRank() <= 4;
}

void cpu::CpuTarget::populateRewrites(nn::TargetRewrites &rewrites) const {
  rewrites.add(
      nn::ConvRewrite{nn::ConvRewrite::Form::channelsLast, takesChannelsLast});
  rewrites.add(
      nn::GroupNormRewrite{[](RankedTensorType, int64_t) { return true; }});
  rewrites.add(nn::TransposeWeightsRewrite{takesTransposed});
  rewrites.add(ByteTablesRewrite());
  rewrites.add(nn::JoinAppendsRewrite{
      [](nn::FusionOp fusion) {
        return describeCodedAttention(fusion).has_value();
      },
      decodes, takesCappedAttention});
}

bool cpu::CpuTarget::keepsWhole(nn::CompositeOp composite) const {
  if (auto codes = dyn_cast<nn::DequantizeOp>(*composite))
    return llvm::all_of(codes->getUses(), [](OpOperand &use) {
      auto product = dyn_cast<nn::MatmulOp>(use.getOwner());
      return product && use.getOperandNumber() == 1 &&
             !checkCodedProduct(product);
    });
  if (auto attention = dyn_cast<nn::AttentionOp>(*composite))
    return takesRangedAttention(attention);
  auto conv = dyn_cast<nn::QuantizedConvOp>(composite.getOperation());
  return conv && !nn::multipliesFloats(conv);
}

bool cpu::CpuTarget::canFuseCodes(nn::MatmulOp product) const {
  return !checkCodedProduct(product);
}

bool cpu::CpuTarget::canUseView(nn::CompositeOp composite, Type element,
                                const nn::StridedPlaces &places) const {
  return isa<nn::AttentionOp>(*composite) &&
         takesAttentionView(element, places);
}

void cpu::CpuTarget::getDialects(DialectRegistry &registry) const {
  registry.insert<CpuDialect>();
}

nn::Schedule cpu::CpuTarget::schedule(nn::FusionOp fusion) const {
  MLIRContext *context = fusion.getContext();
  if (failed(nn::checkHasFunctions(fusion, /*host=*/true, arch())))
    return nullptr;
  if (isa<nn::CustomOp>(fusion.getBody().front().front()))
    return CustomAttr::get(context);
  if (isa<nn::QuantizedConvOp>(fusion.getBody().front().front()))
    return QuantizedConvAttr::get(context);
  auto fits = [](const nn::Epilogue &epilogue) {
    return !epilogue.addend && epilogue.activation() != Activation::other;
  };
  if (describeCappedAttention(fusion))
    return RangedAttentionAttr::get(context);
  nn::Problem problem(fusion);
  const auto &gemm = problem.gemm();
  if (gemm && fits(gemm->epilogue) && hasKernel(gemm->a))
    return GemmAttr::get(context);
  if (problem.kind() == nn::Problem::Kind::attention)
    return RangedAttentionAttr::get(context);
  if (problem.kind() == nn::Problem::Kind::contraction)
    if (const auto &coded = problem.preparedGemm();
        coded && coded->b.getDefiningOp<nn::DequantizeOp>())
      return CodedGemmAttr::get(context);
  const auto &conv = problem.conv();
  if (conv && fits(conv->epilogue) && hasKernel(conv->x))
    return ConvAttr::get(context);
  return LoopsAttr::get(context);
}
