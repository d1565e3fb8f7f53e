//===- TestTarget.h - A target for tests of passes ------------------------===//
//
// Simple on purpose, so that tests read off what a pass asked: convolutions
// want channels last unless grouped, of composites only attention with heads of
// 64 elements stays whole and takes views whose last stride is 1, a contraction
// takes up to three elementwise operators but no exp, the moments of a product
// of at least 64 columns are of 4 elements each, and the schedule names the
// fusion's kind.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_TESTTARGET_H
#define FRIT_TOOLS_FRIT_OPT_TESTTARGET_H

#include "dialects/nn/Target.h"

namespace frit {

class TestTarget : public nn::Target {
public:
  llvm::StringRef arch() const override { return "test"; }

  bool prefersChannelsLast(nn::ConvOp conv) const override {
    return conv.getGroup() == 1;
  }

  bool keepsWhole(nn::CompositeOp composite) const override {
    if (llvm::isa<nn::MomentsOp, nn::NormalizeOp, nn::NormalizeProductOp>(
            *composite))
      return true;
    auto attention = llvm::dyn_cast<nn::AttentionOp>(*composite);
    return attention && nn::shapeOf(attention.getQ()).back() == 64;
  }

  bool takesView(nn::CompositeOp, mlir::Type,
                 const nn::StridedPlaces &places) const override {
    return places.strides.back() == 1;
  }

  bool takesEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                     mlir::Operation *next) const override {
    return fused.size() <= 3 && !llvm::isa<nn::ExpOp>(next);
  }

  int64_t momentWidth(nn::MatmulOp product) const override {
    return nn::shapeOf(product.getY()).back() >= 64 ? 4 : 0;
  }

  nn::ScheduleAttr schedule(nn::FusionOp fusion) const override {
    mlir::Operation *anchor = fusion.getAnchor();
    auto skeleton = llvm::isa<nn::MatmulOp>(anchor) ? nn::Skeleton::gemm
                    : llvm::isa<nn::ConvOp>(anchor) ? nn::Skeleton::conv
                                                    : nn::Skeleton::generic;
    return nn::ScheduleAttr::get(fusion.getContext(), skeleton, /*vector=*/1,
                                 /*threads=*/256, /*perThread=*/1,
                                 /*library=*/false);
  }
};

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_TESTTARGET_H
