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
// its own. One that reads few elements of another, such as the place of a
// token, computes them anew if that makes a kernel less.
//
// A prompt's keys are rotated where they enter their cache: what an update
// alone reads, it computes. That, and the rotation of queries, become one
// kernel, too, although they have more elements.
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

/// Operators that may move behind a joint fusion, or one that computes what it
/// read, and earlier fusions with which one is compared.
static constexpr size_t kMostMoved = 8, kMostMovedFar = 16, kMostCompared = 8;
/// Results of a joint fusion.
static constexpr unsigned kMostResults = 8;
/// Elements of a value that a kernel computes anew instead of reading it.
static constexpr int64_t kMostRecomputed = 16;

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

/// Builds a fusion of `inputs` before `next`, whose body `build` makes of them.
static FusionOp buildFusion(
    Operation *next, Location loc, ArrayRef<Value> inputs,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, IRMapping &)> build) {
  OpBuilder b(next);
  Region region;
  Block &body = region.emplaceBlock();
  IRMapping values;
  for (Value input : inputs)
    values.map(input, body.addArgument(input.getType(), input.getLoc()));
  b.setInsertionPointToStart(&body);
  SmallVector<Value> results = build(b, values);
  YieldOp::create(b, loc, results);
  eraseDead(body);
  b.setInsertionPoint(next);
  auto fusion = FusionOp::create(b, loc, TypeRange(ValueRange(results)), inputs,
                                 Schedule());
  fusion.getBody().takeBody(region);
  return fusion;
}

/// Builds the fusion of both before `second`.
static FusionOp buildJoint(FusionOp first, FusionOp second) {
  llvm::SetVector<Value> inputs;
  inputs.insert_range(first.getInputs());
  inputs.insert_range(second.getInputs());
  return buildFusion(
      second, fuseLocations({first, second}), inputs.getArrayRef(),
      [&](OpBuilder &b, IRMapping &values) {
        SmallVector<Value> results;
        for (FusionOp part : {first, second})
          llvm::append_range(results, cloneBody(b, part, values));
        return results;
      });
}

/// Returns the fusion of which a value of at most `most` elements is a result,
/// maybe reshaped, and that result; null if there is none.
static OpResult fusedResultOf(Value value, int64_t most) {
  if (tensorType(value).getNumElements() > most)
    return {};
  value = throughReshapes(value);
  return value.getDefiningOp<FusionOp>() ? cast<OpResult>(value) : OpResult();
}
static OpResult fewElementsOf(Value value) {
  return fusedResultOf(value, kMostRecomputed);
}

/// Returns whether a fusion may compute what an earlier one does, too: that
/// replaces nothing, and nothing is replaced in the meantime that it reads.
static bool mayRecompute(FusionOp producer, FusionOp reader) {
  if (producer->getBlock() != reader->getBlock() ||
      !producer.getBody().front().getOps<UpdateOp>().empty())
    return false;
  for (Operation *op = producer; op != reader; op = op->getNextNode())
    if (auto writer = dyn_cast<FusionOp>(op->getNextNode()))
      if (readsReplaced(producer, writer))
        return false;
  return true;
}

/// Builds a fusion before `fusion` that also computes what it reads of
/// `producers`, if a value has at most `most` elements.
static FusionOp buildRecomputing(FusionOp fusion,
                                 const llvm::SetVector<FusionOp> &producers,
                                 int64_t most = kMostRecomputed) {
  auto isRecomputed = [&](Value input) {
    OpResult result = fusedResultOf(input, most);
    return result && producers.contains(cast<FusionOp>(result.getOwner()));
  };
  llvm::SetVector<Value> inputs;
  for (FusionOp producer : producers)
    inputs.insert_range(producer.getInputs());
  for (Value input : fusion.getInputs())
    if (!isRecomputed(input))
      inputs.insert(input);
  return buildFusion(
      fusion, fusion.getLoc(), inputs.getArrayRef(),
      [&](OpBuilder &b, IRMapping &values) {
        IRMapping given = values;
        for (FusionOp producer : producers)
          values.map(producer.getResults(), cloneBody(b, producer, given));
        for (Value input : fusion.getInputs()) {
          if (!isRecomputed(input))
            continue;
          Value result = values.lookup(Value(fusedResultOf(input, most)));
          if (result.getType() != input.getType())
            result = ReshapeOp::create(b, input.getLoc(), input.getType(),
                                       result, tensorType(input).getShape());
          values.map(input, result);
        }
        return cloneBody(b, fusion, values);
      });
}

/// Returns whether updates read the places of their rows, as kernels must.
static bool readsPlaces(FusionOp fusion) {
  return llvm::all_of(
      fusion.getBody().front().getOps<UpdateOp>(), [](UpdateOp update) {
        return !update.getOffset() || isa<BlockArgument>(update.getOffset());
      });
}

/// Returns whether no other operator reads a value, be it reshaped.
static bool onlyReads(FusionOp reader, Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto reshape = dyn_cast<ReshapeOp>(user);
    return user == reader || (reshape && onlyReads(reader, reshape.getY()));
  });
}

/// Erases a fusion without readers, and of `open` and what reshapes them what
/// it alone read.
static void eraseReader(SmallVector<FusionOp> &open, FusionOp fusion) {
  llvm::SetVector<Operation *> read;
  for (Value input : fusion.getInputs())
    if (Operation *op = input.getDefiningOp())
      read.insert(op);
  fusion.erase();
  while (!read.empty()) {
    Operation *op = read.pop_back_val();
    if (!op->use_empty() || !isa<FusionOp, ReshapeOp>(op))
      continue;
    for (Value input : op->getOperands())
      if (Operation *before = input.getDefiningOp())
        read.insert(before);
    llvm::erase_if(open, [&](FusionOp other) { return other == op; });
    op->erase();
  }
}

/// Returns whether a fusion replaces rows of a state.
static bool hasUpdates(FusionOp fusion) {
  return !fusion.getBody().front().getOps<UpdateOp>().empty();
}

/// Returns whether neighbouring elements of what a fusion reads remain
/// neighbours where it moves them.
static bool keepsNeighbours(FusionOp fusion) {
  return llvm::all_of(fusion.getBody().front().getOps<TransposeOp>(),
                      [](TransposeOp transpose) {
                        ArrayRef<int64_t> perm = transpose.getPerm();
                        return perm.back() == int64_t(perm.size()) - 1;
                      });
}

/// Returns a fusion with those of its results that are read.
static FusionOp keepUsed(FusionOp fusion) {
  SmallVector<unsigned> used;
  for (OpResult result : fusion.getResults())
    if (!result.use_empty())
      used.push_back(result.getResultNumber());
  if (used.size() == fusion.getNumResults())
    return fusion;
  FusionOp kept = buildFusion(
      fusion, fusion.getLoc(), SmallVector<Value>(fusion.getInputs()),
      [&](OpBuilder &b, IRMapping &values) {
        SmallVector<Value> all = cloneBody(b, fusion, values);
        return llvm::map_to_vector(used, [&](unsigned i) { return all[i]; });
      });
  for (auto [i, result] : llvm::zip_equal(used, kept.getResults()))
    fusion.getResult(i).replaceAllUsesWith(result);
  fusion.erase();
  return kept;
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
    for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>()))
      if (hasUpdates(fusion) && rewrite->takesAppends(fusion))
        computeInside(fusion);
    // Those that others may join, of few elements and of many.
    SmallVector<FusionOp> open, large;
    auto leaveOpen = [](SmallVector<FusionOp> &list, FusionOp fusion) {
      list.push_back(fusion);
      if (list.size() > kMostCompared)
        list.erase(list.begin());
    };
    for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>())) {
      const bool updates = hasUpdates(fusion);
      FusionOp joint;
      if (rewrite->takes(fusion)) {
        joint = joinOneOf(open, fusion);
        if (!joint)
          joint = joinRecomputed(open, fusion);
        if (!joint && updates && (joint = joinOneOf(large, fusion)))
          leaveOpen(large, joint);
        else
          leaveOpen(open, joint ? joint : fusion);
      } else if (rewrite->takesAppends(fusion)) {
        joint = joinOneOf(large, fusion, /*updates=*/!updates);
        if (!joint)
          joint = joinOneOf(open, fusion, /*updates=*/true);
        leaveOpen(large, joint ? joint : fusion);
      }
    }
  }

  /// Joins a fusion to the last of `others` that it can be joined to, maybe to
  /// one that replaces rows of a state only.
  FusionOp joinOneOf(SmallVector<FusionOp> &others, FusionOp fusion,
                     bool updates = false) const {
    for (FusionOp other : llvm::reverse(others))
      if (!updates || hasUpdates(other))
        if (FusionOp joint = join(other, fusion, kMostMoved)) {
          llvm::erase(others, other);
          return joint;
        }
    return {};
  }

  /// Lets a fusion that replaces rows of a state compute what it alone reads.
  void computeInside(FusionOp fusion) const {
    llvm::SetVector<FusionOp> producers;
    for (Value input : fusion.getInputs())
      if (OpResult result = fusedResultOf(input, INT64_MAX)) {
        auto producer = cast<FusionOp>(result.getOwner());
        if (producer.getNumResults() == 1 && onlyReads(fusion, result) &&
            rewrite->takesAppends(producer) && mayRecompute(producer, fusion))
          producers.insert(producer);
      }
    if (producers.empty() || !keepsNeighbours(fusion))
      return;
    FusionOp whole = buildRecomputing(fusion, producers, INT64_MAX);
    if (!readsPlaces(whole) || !rewrite->takesAppends(whole)) {
      whole.erase();
      return;
    }
    fusion.replaceAllUsesWith(whole);
    SmallVector<FusionOp> none;
    eraseReader(none, fusion);
  }

  /// Computes the few elements that a fusion reads of earlier ones anew, if it
  /// then can be joined to one of these or they have no other readers.
  FusionOp joinRecomputed(SmallVector<FusionOp> &open, FusionOp fusion) const {
    llvm::SetVector<FusionOp> producers;
    for (Value input : fusion.getInputs())
      if (OpResult few = fewElementsOf(input)) {
        auto producer = cast<FusionOp>(few.getOwner());
        if (rewrite->takes(producer) && mayRecompute(producer, fusion))
          producers.insert(producer);
      }
    if (producers.empty())
      return {};
    FusionOp whole = buildRecomputing(fusion, producers);
    bool spares = llvm::any_of(producers, [&](FusionOp producer) {
      return llvm::all_of(producer.getResults(), [&](Value result) {
        return onlyReads(fusion, result);
      });
    });
    fusion.replaceAllUsesWith(whole);
    const bool works = readsPlaces(whole) && rewrite->takes(whole);
    FusionOp joint;
    if (works)
      for (FusionOp other : producers)
        if (llvm::is_contained(open, other) &&
            (joint = join(other, whole, kMostMovedFar))) {
          llvm::erase(open, other);
          break;
        }
    if (!joint && !(spares && works)) {
      whole.replaceAllUsesWith(fusion);
      whole.erase();
      return {};
    }
    eraseReader(open, fusion);
    return keepUsed(joint ? joint : whole);
  }

  /// Joins `second` to `first`, which comes before it, if it can and at most
  /// `most` operators move.
  FusionOp join(FusionOp first, FusionOp second, size_t most) const {
    if (first.getNumResults() + second.getNumResults() > kMostResults ||
        readsReplaced(first, second) || readsReplaced(second, first))
      return {};
    auto moved = dependentsBefore(first, second, most);
    if (!moved)
      return {};
    FusionOp joint = buildJoint(first, second);
    if (!rewrite->takes(joint) &&
        !(hasUpdates(joint) && rewrite->takesAppends(joint))) {
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
