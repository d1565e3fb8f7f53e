//===- Layout.cpp - Put channels last for convolutions --------------------===//
//
//   %c = nn.conv %x, %w ...
//   %r = nn.relu %c
//   %d = nn.conv %r, %v ...
// ==>
//   %0 = nn.transpose %x {perm = [0, 2, 3, 1]}
//   %1 = nn.transpose %w {perm = [0, 2, 3, 1]}      moves to @prepare
//   %c = nn.conv %0, %1 {channels_last} ...
//   %r = nn.relu %c
//   %2 = nn.transpose %v {perm = [0, 2, 3, 1]}
//   %d = nn.conv %r, %2 {channels_last} ...
//   %y = nn.transpose %d {perm = [0, 3, 1, 2]}
//
// The target chooses which convolutions change, and how (rewrites/Layout.h).
// 1-D and 3-D ones become 2-D (ConvTo2D.cpp). Then every convolution gets
// transposes around it; strided ones over few channels fold their strides into
// channels (SpaceToDepth.cpp). The transposes after them sink through the
// following operators (LayoutPatterns.cpp) until they cancel with the next
// convolution's or reach an operator that depends on the order of dimensions.
// Group norms, which are imported as norms of channels-first rows, become
// nn.group_norm if a model trains or the target asks (GroupNorm.cpp). Finally,
// depthwise convolutions become an operator of their own (DepthwiseConv.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/Layout.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/layout/ConvForms.h"
#include "compiler/transform/layout/LayoutPatterns.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace frit {
#define GEN_PASS_DEF_LAYOUT
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

void frit::putChannelsLast(ConvOp conv) {
  NNBuilder b(conv.getLoc(), conv.getOperation());
  auto x = transposeToLast(b, conv.getX()), w = transposeToLast(b, conv.getW());
  auto last = cast<ConvOp>(b.clone(*conv));
  last.setChannelsLast(true);
  last.getXMutable().assign(x);
  last.getWMutable().assign(w);
  auto type = conv.getY().getType();
  last.getY().setType(
      type.clone(permuted(type.getShape(), toLast(type.getRank()))));
  conv->replaceAllUsesWith(ValueRange{transposeToFirst(b, last.getY())});
  conv->erase();
}

static bool isChannelsLast(Operation *op) {
  return op && (op->hasAttr("channels_last") || isa<DepthwiseConvOp>(op));
}

/// Emits remarks for transposes that remain between computations.
static void remarkTransposes(func::FuncOp function) {
  function.walk([](TransposeOp op) {
    Operation *producer = op.getX().getDefiningOp();
    if (!producer || dependsOnConstants(op.getX()))
      return;
    for (Operation *user : op->getUsers())
      if (!user->hasTrait<OpTrait::IsTerminator>() &&
          (isChannelsLast(producer) || isChannelsLast(user)))
        remark::missed(op.getLoc(),
                       remark::RemarkOpts::name("Transpose").category("layout"))
            << remark::add("a transpose stays between {0} and {1}",
                           nodeName(producer), nodeName(user));
  });
}

namespace {
/// When convolutions change: as imported; then, to put channels last; after
/// transposes have moved.
enum class Step { dimensions, channelsLast, kernel };
} // namespace

static Step stepOf(ConvRewrite::Form form) {
  switch (form) {
  case ConvRewrite::Form::twoDimensional:
    return Step::dimensions;
  case ConvRewrite::Form::spaceToDepth:
  case ConvRewrite::Form::channelsLast:
    return Step::channelsLast;
  case ConvRewrite::Form::depthwise:
    return Step::kernel;
  }
  llvm_unreachable("no such form");
}

static bool isPossible(ConvRewrite::Form form, ConvOp conv) {
  switch (form) {
  case ConvRewrite::Form::channelsLast:
    return !conv.getChannelsLast();
  case ConvRewrite::Form::spaceToDepth:
    return canApplySpaceToDepth(conv);
  case ConvRewrite::Form::twoDimensional:
  case ConvRewrite::Form::depthwise:
    return true;
  }
  llvm_unreachable("no such form");
}

/// Replaces the convolution.
static void change(ConvOp conv, ConvRewrite::Form form) {
  switch (form) {
  case ConvRewrite::Form::twoDimensional:
    return makeConv2D(conv);
  case ConvRewrite::Form::spaceToDepth:
    return applySpaceToDepth(conv);
  case ConvRewrite::Form::channelsLast:
    return putChannelsLast(conv);
  case ConvRewrite::Form::depthwise:
    return makeDepthwise(conv);
  }
}

namespace {
class Layout : public frit::impl::LayoutBase<Layout> {
public:
  Layout(const Target &target, LayoutOptions options) : LayoutBase(options) {
    target.populateRewrites(rewrites);
  }
  Layout(const Layout &) = default;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateLayout(set);
    auto *rewrite = rewrites.find<GroupNormRewrite>();
    if (groupNorms)
      populateGroupNorms(set, [](RankedTensorType, int64_t) { return true; });
    else if (rewrite)
      populateGroupNorms(set, rewrite->pays);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool changes = apply(function, Step::dimensions);
      changes |= apply(function, Step::channelsLast);
      // Those have been put channels last (QuantizedConvs.cpp).
      function.walk([&](QuantizedConvOp) { changes = true; });
      if (!changes)
        continue;
      GreedyRewriteConfig config;
      config.enableConstantCSE(false);
      if (failed(applyPatternsGreedily(function, patterns, config)))
        return signalPassFailure();
      apply(function, Step::kernel);
      remarkTransposes(function);
    }
  }

private:
  /// Returns whether a convolution was rewritten.
  bool apply(func::FuncOp function, Step step) {
    SmallVector<std::pair<ConvOp, const ConvRewrite *>> work;
    function.walk([&](ConvOp conv) {
      for (const ConvRewrite *rewrite : rewrites.list<ConvRewrite>())
        if (stepOf(rewrite->form) == step && rewrite->pays(conv) &&
            isPossible(rewrite->form, conv)) {
          work.push_back({conv, rewrite});
          return;
        }
    });
    for (auto [conv, rewrite] : work)
      change(conv, rewrite->form);
    return !work.empty();
  }

  TargetRewrites rewrites;
  FrozenRewritePatternSet patterns;
};
} // namespace

std::unique_ptr<Pass> frit::createLayout(const Target &target,
                                         LayoutOptions options) {
  return std::make_unique<Layout>(target, options);
}
