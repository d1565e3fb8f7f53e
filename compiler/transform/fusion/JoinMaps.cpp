//===- JoinMaps.cpp - Small kernels that run side by side -----------------===//
//
//   %q = nn.fusion(%x, %cos) { nn.mul }
//   %k = nn.fusion(%y, %cos, %cache, %at) { nn.mul, nn.update }
// ==>
//   %q, %k = nn.fusion(%x, %cos, %y, %cache, %at)
//            { nn.mul, nn.mul, nn.update }
//
// A kernel of a few thousand elements takes as long as its launch and one way
// to memory and back. A model that writes one token has many of them: it
// rotates queries and keys, and appends keys and values to caches. Those that
// do not depend on each other become one kernel, in which each has blocks of
// its own.
//
// The joint fusion stands where the last of them was, and what depends on the
// others follows it. Kernels of @prepare run once, and one serves many weights.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/JoinMaps.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

namespace frit {
#define GEN_PASS_DEF_JOINMAPS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Operators that may move behind a joint fusion, and earlier fusions with
/// which one is compared.
static constexpr size_t kMostMoved = 8, kMostCompared = 8;
/// Results of a joint fusion.
static constexpr unsigned kMostResults = 8;

/// Returns whether `reader` reads a state of which `writer` replaces rows. In
/// one kernel, some blocks would read what others have replaced.
static bool readsReplaced(FusionOp reader, FusionOp writer) {
  return llvm::any_of(writer.getBody().front(), [&](Operation &op) {
    auto update = dyn_cast<UpdateOp>(op);
    auto state =
        update ? dyn_cast<BlockArgument>(update.getState()) : BlockArgument();
    return state &&
           llvm::is_contained(reader.getInputs(),
                              writer.getInputs()[state.getArgNumber()]);
  });
}

/// Builds the fusion of both before `second`.
static FusionOp buildJoint(FusionOp first, FusionOp second) {
  OpBuilder b(second);
  llvm::SetVector<Value> inputs;
  inputs.insert_range(first.getInputs());
  inputs.insert_range(second.getInputs());
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  auto joint = FusionOp::create(b, fuseLocations({first, second}), types,
                                inputs.getArrayRef(), Schedule());
  Block &body = joint.getBody().emplaceBlock();
  IRMapping values;
  for (Value input : inputs)
    values.map(input, body.addArgument(input.getType(), input.getLoc()));
  b.setInsertionPointToStart(&body);
  SmallVector<Value> results;
  for (FusionOp part : {first, second})
    llvm::append_range(results, cloneBody(b, part, values));
  YieldOp::create(b, joint.getLoc(), results);
  return joint;
}

namespace {
class JoinMaps : public TargetRewritePass<frit::impl::JoinMapsBase<JoinMaps>,
                                          JoinMapsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    if (cast<func::FuncOp>(block.getParentOp()).getSymName() == "prepare")
      return;
    SmallVector<FusionOp> open; // those that others may join
    for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>())) {
      if (!rewrite->takes(fusion))
        continue;
      for (FusionOp other : llvm::reverse(open))
        if (FusionOp joint = join(other, fusion)) {
          llvm::erase(open, other);
          fusion = joint;
          break;
        }
      open.push_back(fusion);
      if (open.size() > kMostCompared)
        open.erase(open.begin());
    }
  }

  /// Joins `second` to `first`, which comes before it, if it can.
  FusionOp join(FusionOp first, FusionOp second) const {
    if (first.getNumResults() + second.getNumResults() > kMostResults ||
        readsReplaced(first, second) || readsReplaced(second, first))
      return {};
    auto moved = dependentsBefore(first, second, kMostMoved);
    if (!moved)
      return {};
    FusionOp joint = buildJoint(first, second);
    if (!rewrite->takes(joint)) {
      joint.erase();
      return {};
    }
    Operation *last = joint;
    for (Operation *op : *moved) {
      op->moveAfter(last);
      last = op;
    }
    unsigned split = first.getNumResults();
    first.replaceAllUsesWith(joint.getResults().take_front(split));
    second.replaceAllUsesWith(joint.getResults().drop_front(split));
    first.erase();
    second.erase();
    return joint;
  }
};
} // namespace

std::unique_ptr<Pass> frit::createJoinMaps(const Target &target) {
  return std::make_unique<JoinMaps>(target);
}
