//===- TestTarget.h - A target for tests of passes ------------------------===//
//
// A target with simple rules, so that a test's output shows what a pass asked:
// - Convolutions get channels last and two spatial dimensions, unless groups
//   have several channels. Those with one channel per group are depthwise.
// - Only attention with heads of 64 elements stays a composite. It takes views
//   whose last stride is 1.
// - A contraction fuses up to three elementwise operators, but no exp. A second
//   convolution fuses only with 96 filters. A product of at least 64 columns
//   emits row moments of 4 elements each, and a convolution with 128 filters
//   column moments of 64. Convolutions of doubled images are folded if that
//   saves two fifths of their operations.
// - A fusion with a contraction is worth a guard, takes 5 us and fills the GPU.
//   Any other takes 3 us and a quarter of it. The cost of attention is unknown.
// - A kernel sums columns beside rows if it has at most four results. The
//   kernel of a product with at least 64 columns takes column sums of 16 rows
//   each, and stores the operand of its activation. That of a product of 16-bit
//   floats multiplies parts of 64 elements of its rows by another tensor.
// - Fusions of up to 64 elements each, without reductions, run side by side.
// - Attention of one query appends to its keys and values.
// - Products of up to 8 rows want rows of a weight along their columns if two
//   read it.
// - Codes of few bits are kept, in tiles, and are a part of the kernel of a
//   product of up to 16 rows. So is the root mean square norm of its rows of 64
//   elements, and a second product of them, if an elementwise operator reads
//   both.
// - Products of 16-bit floats by such numbers of rows want sparse weights
//   without their zeros.
// - The schedule is that of a simple CUDA kernel of the fusion's kind.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_TESTTARGET_H
#define FRIT_TOOLS_FRIT_OPT_TESTTARGET_H

#include "codegen/cuda/target/CudaDialect.h"
#include "dialects/nn/ByteTables.h"
#include "dialects/nn/Target.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/rewrites/AlignColumns.h"
#include "dialects/nn/rewrites/AttentionDeltas.h"
#include "dialects/nn/rewrites/CompressWeights.h"
#include "dialects/nn/rewrites/ConvBatchNorms.h"
#include "dialects/nn/rewrites/FoldNorms.h"
#include "dialects/nn/rewrites/FoldProducts.h"
#include "dialects/nn/rewrites/FoldUpsampling.h"
#include "dialects/nn/rewrites/GateProducts.h"
#include "dialects/nn/rewrites/JoinAppends.h"
#include "dialects/nn/rewrites/JoinMaps.h"
#include "dialects/nn/rewrites/Layout.h"
#include "dialects/nn/rewrites/RunBeside.h"
#include "dialects/nn/rewrites/SideOutputs.h"
#include "dialects/nn/rewrites/SplitReductions.h"
#include "dialects/nn/rewrites/TransposeWeights.h"
#include "dialects/nn/training/Gradient.h"

namespace frit {

class TestTarget : public nn::Target {
public:
  llvm::StringRef arch() const override { return "sm_90a"; }
  bool needsFallbacks() const override { return true; }
  int64_t workspaceBytes() const override { return 32 << 20; }

  void populateRewrites(nn::TargetRewrites &rewrites) const override {
    rewrites.add(
        nn::CompressWeightsRewrite{[](nn::MatmulOp product) -> nn::Legality {
          auto a = nn::tensorType(product.getA());
          if (a.getElementTypeBitWidth() != 16 || a.getDimSize(0) > 16)
            return nn::Mismatch("it is wide or has many rows");
          return std::nullopt;
        }});
    using Form = nn::ConvRewrite::Form;
    rewrites.add(nn::ConvRewrite{Form::twoDimensional, [](nn::ConvOp conv) {
                                   return conv.getGroup() == 1 &&
                                          nn::shapeOf(conv.getX()).size() != 4;
                                 }});
    rewrites.add(nn::ConvRewrite{Form::channelsLast, [](nn::ConvOp conv) {
                                   return conv.getGroup() == 1 ||
                                          nn::shapeOf(conv.getW())[1] == 1;
                                 }});
    rewrites.add(nn::ConvRewrite{Form::depthwise, [](nn::ConvOp conv) {
                                   return conv.getGroup() > 1 &&
                                          conv.getChannelsLast();
                                 }});
    rewrites.add(ByteTablesRewrite());
    rewrites.add(TiledWeightsRewrite());
    rewrites.add(nn::SplitReductionsRewrite{
        [](nn::ReduceOp reduce) {
          int64_t elements = nn::tensorType(reduce.getX()).getNumElements();
          return elements > 1 << 16 ? 64 : 1;
        },
        /*fitsCache=*/[](int64_t bytes) { return bytes <= 8 << 20; }});
    rewrites.add(nn::ColumnMomentsRewrite{[](nn::ConvOp conv, auto) {
      return nn::shapeOf(conv.getW()).front() == 128 ? 64 : 0;
    }});
    rewrites.add(nn::SideOutputsRewrite{[](nn::FusionOp fusion) {
      return !llvm::isa<nn::MatmulOp, nn::AttentionGradOp>(
                 fusion.getAnchor()) &&
             fusion.getNumResults() <= 4;
    }});
    rewrites.add(nn::SideOutputsRewrite{takesSideOutput, /*sumHeight=*/16});
    rewrites.add(
        nn::TransposeWeightsRewrite{[](nn::MatmulOp product, size_t uses) {
          return nn::shapeOf(product.getA()).front() <= 8 && uses > 1;
        }});
    rewrites.add(nn::JoinAppendsRewrite{
        [](nn::FusionOp fusion) {
          auto info = nn::describeAppendingAttention(fusion);
          return info && info->queries == 1;
        },
        /*joins=*/nullptr,
        /*takesProducts=*/
        [](nn::FusionOp fusion) {
          return !fusion.getBody().front().getOps<nn::TanhOp>().empty();
        }});
    auto computesAlone = [](nn::FusionOp fusion, int64_t most) {
      return llvm::all_of(fusion.getBody().front(), [&](mlir::Operation &op) {
        return !llvm::isa<nn::ReduceOp, nn::MatmulOp>(op) &&
               llvm::all_of(op.getResults(), [&](mlir::Value result) {
                 return llvm::isa<nn::UpdateOp>(result.getDefiningOp()) ||
                        nn::tensorType(result).getNumElements() <= most;
               });
      });
    };
    rewrites.add(nn::JoinMapsRewrite{
        [=](nn::FusionOp fusion) { return computesAlone(fusion, 64); },
        [=](nn::FusionOp fusion) { return computesAlone(fusion, 4096); }});
    rewrites.add(nn::AlignColumnsRewrite{[](nn::MatmulOp) { return 8; }});
    rewrites.add(nn::ConvBatchNormsRewrite{[](nn::ConvOp conv) {
      return nn::shapeOf(conv.getW()).front() >= 256 ? 2 : 0;
    }});
    rewrites.add(nn::AttentionDeltasRewrite{[](nn::AttentionGradOp gradient) {
      return nn::shapeOf(gradient.getQ()).back() == 64;
    }});
    rewrites.add(nn::RunBesideRewrite{[](nn::FusionOp fusion) -> nn::Schedule {
      auto product = llvm::dyn_cast<nn::MatmulOp>(fusion.getAnchor());
      if (!product || nn::shapeOf(product.getA()).front() != 2)
        return {};
      return cuda::GemvAttr::get(fusion.getContext(), /*columns=*/128,
                                 /*split=*/1, /*threads=*/512, /*blocks=*/2,
                                 /*stages=*/0);
    }});
    rewrites.add(nn::GateProductsRewrite{[](nn::MatmulOp product) {
      return nn::shapeOf(product.getY()).back() >= 64;
    }});
    rewrites.add(
        nn::FoldProductsRewrite{[](nn::ConvOp conv, nn::ConvOp, nn::AddOp) {
          return nn::shapeOf(conv.getY()).back() >= 4;
        }});
    rewrites.add(
        nn::FoldUpsamplingRewrite{[](nn::ConvOp conv, nn::ConvOp planes) {
          return 5 * nn::countFlops(planes) < 3 * nn::countFlops(conv);
        }});
    rewrites.add(nn::FoldNormsRewrite{
        [](nn::MatmulOp product) {
          return nn::shapeOf(product.getY()).back() >= 64 ? 4 : 0;
        },
        /*mergesMoments=*/[](int64_t rows) { return false; }});
  }

  bool keepsWhole(nn::CompositeOp composite) const override {
    if (llvm::isa<nn::MomentsOp, nn::NormalizeOp, nn::NormalizeProductOp,
                  nn::GateColumnsOp, nn::QuantizedConvOp, nn::DequantizeOp>(
            *composite))
      return true;
    if (llvm::isa<nn::RmsNormOp>(*composite))
      return llvm::all_of(composite->getUsers(), [&](mlir::Operation *user) {
        auto product = llvm::dyn_cast<nn::MatmulOp>(user);
        return product && canFuseNorm(product);
      });
    return llvm::isa<nn::AttentionOp, nn::AttentionStatsOp,
                     nn::AttentionGradOp>(*composite) &&
           nn::shapeOf(composite->getOperand(0)).back() == 64;
  }

  bool canUseView(nn::CompositeOp, mlir::Type,
                  const nn::StridedPlaces &places) const override {
    return places.strides.back() == 1;
  }

  bool canFuseCodes(nn::MatmulOp product) const override {
    return nn::shapeOf(product.getA()).front() <= 16;
  }

  bool canFuseNorm(nn::MatmulOp product) const override {
    return nn::shapeOf(product.getA()).front() <= 16 &&
           nn::shapeOf(product.getA()).back() == 64;
  }

  bool canFusePair(llvm::ArrayRef<mlir::Operation *> operators) const override {
    auto isOfBytes = [](mlir::Operation *op) {
      return llvm::isa<nn::QuantizedConvOp>(op);
    };
    auto info = nn::describePair(operators);
    return (info && info->m <= 16) || llvm::count_if(operators, isOfBytes) == 2;
  }

  bool canFuseEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                       mlir::Operation *next) const override {
    if (auto conv = llvm::dyn_cast<nn::ConvOp>(next))
      return nn::shapeOf(conv.getW())[0] == 96;
    return fused.size() <= 3 && !llvm::isa<nn::ExpOp>(next);
  }

  nn::KernelSize largestKernel() const override {
    return {/*instructions=*/256, /*tensors=*/12};
  }

  bool guards(const nn::Work &work) const override { return work.flops > 0; }

  std::optional<nn::StepCost> cost(nn::FusionOp fusion) const override {
    if (llvm::isa<nn::AttentionOp>(fusion.getAnchor()))
      return std::nullopt;
    if (llvm::isa_and_nonnull<cuda::GemvAttr>(fusion.getScheduleAttr()))
      return nn::StepCost{6, 0.5};
    bool contracts = llvm::isa<nn::MatmulOp, nn::ConvOp>(fusion.getAnchor());
    return contracts ? nn::StepCost{5, 1} : nn::StepCost{3, 0.25};
  }

  std::optional<nn::BranchCosts> branchCosts() const override {
    return nn::BranchCosts{0.5, 0.5};
  }

  void getDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<cuda::CudaDialect>();
  }

  nn::Schedule schedule(nn::FusionOp fusion) const override {
    mlir::Operation *anchor = fusion.getAnchor();
    mlir::MLIRContext *context = fusion.getContext();
    if (llvm::isa<nn::MatmulOp>(anchor))
      return cuda::GemmAttr::get(context, /*tile_m=*/64, /*tile_n=*/64);
    if (llvm::isa<nn::ConvOp>(anchor))
      return cuda::ConvAttr::get(context, /*tile_m=*/64, /*tile_n=*/64);
    return cuda::GenericAttr::get(context, /*vector=*/1, /*interleave=*/1,
                                  /*threads=*/256);
  }

private:
  /// Returns whether the kernel of a product has the fusion's second result.
  static bool takesSideOutput(nn::FusionOp fusion) {
    if (!llvm::isa<nn::MatmulOp, nn::AttentionGradOp>(fusion.getAnchor()))
      return false;
    mlir::Value side = fusion.getBody().front().getTerminator()->getOperand(1);
    if (auto dots = side.getDefiningOp<nn::RowDotsOp>())
      return dots.getWidth() == 64 &&
             nn::tensorType(dots.getA()).getElementTypeBitWidth() == 16;
    return nn::shapeOf(side).back() >= 64;
  }
};

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_TESTTARGET_H
