//===- JoinColumnSums.cpp - Sums down columns join rows -------------------===//
//
//   %dx = nn.fusion(%dy, %x, …) { … nn.reduce {axes = [1]} … }
//   %p = nn.fusion(%dy', %x') { … nn.reduce {axes = [1]} … }     parts of
//   columns %q = nn.fusion(%dx') { … nn.reduce {axes = [1]} … }
// ==>
//   %dx, %p, %q = nn.fusion(%dy, %x, …) { … }
//
// where %dy', %x' and %dx' are reshapes to parts × rows × columns. The gradient
// of a layer norm reduces rows; those of its scale and bias, and of a bias
// whose sum it normalized, are sums down the columns of the same tensors, and
// of its result. In a kernel of their own (SplitReductions.cpp) they read all
// of it again. The sums of their parts become one fusion too.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/JoinColumnSums.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_JOINCOLUMNSUMS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static Value throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

static bool hasReductions(FusionOp fusion,
                          llvm::function_ref<bool(ReduceOp)> all) {
  auto reduces = fusion.getBody().front().getOps<ReduceOp>();
  return !reduces.empty() && llvm::all_of(reduces, all);
}

/// Whether a fusion reduces rows, and possibly sums columns.
static bool reducesRows(FusionOp fusion) {
  return llvm::any_of(
      fusion.getBody().front().getOps<ReduceOp>(), [](ReduceOp op) {
        return op.getAxes().back() == tensorType(op.getX()).getRank() - 1;
      });
}

/// Whether a fusion has sums over the rows of parts only.
static bool sumsColumns(FusionOp fusion) {
  return hasReductions(fusion, [](ReduceOp op) {
    return tensorType(op.getX()).getRank() == 3 &&
           op.getAxes() == ArrayRef<int64_t>{1} &&
           op.getKind() == Combiner::sum;
  });
}

/// Whether an operand exists before `op`.
static bool isBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

/// Returns the operators before `end` that depend on `op`, in order; nothing if
/// `end` does, or if they are many.
static std::optional<SmallVector<Operation *>>
dependentsBefore(Operation *op, Operation *end) {
  constexpr size_t kMost = 16;
  llvm::SetVector<Operation *> found;
  found.insert(op);
  for (size_t i = 0; i < found.size(); ++i)
    for (Operation *user : found[i]->getUsers()) {
      if (user == end || found.size() > kMost)
        return std::nullopt;
      if (user->isBeforeInBlock(end))
        found.insert(user);
    }
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  order.erase(order.begin()); // `op`
  return order;
}

/// Where the joined fusion finds what `sums` reads: values of the body of
/// `rows`, by operand; null for an operand of its own.
static FailureOr<SmallVector<Value>> findOperands(FusionOp rows,
                                                  FusionOp sums) {
  int64_t most = 0;
  for (Value input : rows.getInputs())
    most = std::max(most, tensorType(input).getNumElements());
  for (Value result : rows.getResults())
    most = std::max(most, tensorType(result).getNumElements());
  Block &body = rows.getBody().front();
  SmallVector<Value> found;
  bool shares = false;
  for (Value operand : sums.getInputs()) {
    Value base = throughReshapes(operand), inside;
    if (base.getDefiningOp() == rows)
      inside = body.getTerminator()->getOperand(
          cast<OpResult>(base).getResultNumber());
    for (auto [input, argument] :
         llvm::zip(rows.getInputs(), body.getArguments()))
      if (throughReshapes(input) == base)
        inside = argument;
    bool isLarge = 2 * tensorType(operand).getNumElements() > most;
    if (!inside && (isLarge || !isBefore(operand, rows)))
      return failure();
    shares |= inside && isLarge;
    found.push_back(inside);
  }
  if (!shares)
    return failure();
  return found;
}

/// Builds a fusion of both before `rows`.
static FusionOp buildJoined(FusionOp rows, FusionOp sums,
                            ArrayRef<Value> operands) {
  SmallVector<Value> inputs(rows.getInputs());
  for (auto [operand, inside] : llvm::zip(sums.getInputs(), operands))
    if (!inside)
      inputs.push_back(operand);
  SmallVector<Type> types(rows.getResultTypes());
  llvm::append_range(types, sums.getResultTypes());
  OpBuilder b(rows);
  auto joined = FusionOp::create(b, fuseLocations({rows, sums}), types, inputs,
                                 Schedule());
  Block &body = joined.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  b.setInsertionPointToEnd(&body);
  IRMapping map;
  Block &first = rows.getBody().front(), &second = sums.getBody().front();
  map.map(first.getArguments(),
          body.getArguments().take_front(first.getNumArguments()));
  for (Operation &op : first.without_terminator())
    b.clone(op, map);
  size_t own = first.getNumArguments();
  NNBuilder nb(joined.getLoc(), b);
  for (auto [argument, inside] : llvm::zip(second.getArguments(), operands)) {
    nb.setInsertionPointToEnd(&body);
    map.map(argument, inside ? nb.reshape(map.lookup(inside), shapeOf(argument))
                             : body.getArgument(own++));
  }
  b.setInsertionPointToEnd(&body);
  for (Operation &op : second.without_terminator())
    b.clone(op, map);
  SmallVector<Value> results;
  for (Block *block : {&first, &second})
    for (Value value : block->getTerminator()->getOperands())
      results.push_back(map.lookup(value));
  YieldOp::create(b, joined.getLoc(), results);
  return joined;
}

/// Whether a fusion only sums parts that `source` computes.
static bool sumsParts(FusionOp fusion, FusionOp source) {
  return llvm::all_of(fusion.getBody().front().without_terminator(),
                      [](Operation &op) {
                        auto reduce = dyn_cast<ReduceOp>(op);
                        return reduce &&
                               tensorType(reduce.getX()).getRank() == 2 &&
                               reduce.getAxes() == ArrayRef<int64_t>{0};
                      }) &&
         llvm::all_of(fusion.getInputs(), [&](Value input) {
           auto reshape = input.getDefiningOp<ReshapeOp>();
           return reshape && reshape.getX().getDefiningOp() == source &&
                  input.getType() == fusion.getInputs().front().getType();
         });
}

/// Makes one fusion of those that sum parts which `source` computes.
static void joinSumsOfParts(FusionOp source) {
  llvm::SetVector<Operation *> found;
  for (Value result : source.getResults())
    for (Operation *user : result.getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        for (Operation *reader : reshape.getY().getUsers())
          if (auto fusion = dyn_cast<FusionOp>(reader);
              fusion && sumsParts(fusion, source))
            found.insert(fusion);
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  FusionOp last;
  for (Operation *op : order) {
    auto fusion = cast<FusionOp>(op);
    if (!last || last.getInputs().front().getType() !=
                     fusion.getInputs().front().getType()) {
      last = fusion;
      continue;
    }
    // Reshapes of what `source` computes may stand where they are needed.
    for (Value input : fusion.getInputs())
      if (Operation *def = input.getDefiningOp(); !isBefore(input, last))
        def->moveBefore(last);
    FusionOp both = buildJoined(last, fusion,
                                SmallVector<Value>(fusion.getInputs().size()));
    size_t count = last.getNumResults();
    last.replaceAllUsesWith(both.getResults().take_front(count));
    fusion.replaceAllUsesWith(both.getResults().drop_front(count));
    last.erase();
    fusion.erase();
    last = both;
  }
}

namespace {
class JoinColumnSums
    : public TargetRewritePass<frit::impl::JoinColumnSumsBase<JoinColumnSums>,
                               JoinColumnSumsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    SmallVector<FusionOp> fusions(block.getOps<FusionOp>()), joined;
    llvm::DenseSet<Operation *> erased;
    for (FusionOp rows : fusions) {
      if (erased.contains(rows) || !reducesRows(rows))
        continue;
      bool joins = false;
      for (FusionOp sums : fusions) {
        if (sums == rows || erased.contains(sums) || !sumsColumns(sums))
          continue;
        FusionOp both = join(rows, sums);
        if (!both)
          continue;
        for (FusionOp part : {rows, sums}) {
          erased.insert(part);
          part.erase();
        }
        rows = both;
        joins = true;
      }
      if (joins)
        joined.push_back(rows);
    }
    for (FusionOp fusion : joined)
      joinSumsOfParts(fusion);
    eraseDead(block);
  }

  /// Joins `sums` to `rows` if the target has a kernel for both; returns the
  /// fusion that has replaced them.
  FusionOp join(FusionOp rows, FusionOp sums);
};
} // namespace

FusionOp JoinColumnSums::join(FusionOp rows, FusionOp sums) {
  auto operands = findOperands(rows, sums);
  if (failed(operands))
    return {};
  // What reads the sums moves behind the rows.
  SmallVector<Operation *> readers;
  if (sums->isBeforeInBlock(rows)) {
    auto found = dependentsBefore(sums, rows);
    if (!found)
      return {};
    readers = std::move(*found);
  }
  FusionOp joined = buildJoined(rows, sums, *operands);
  if (!rewrite->takes(joined)) {
    joined.erase();
    return {};
  }
  size_t count = rows.getNumResults();
  rows.replaceAllUsesWith(joined.getResults().take_front(count));
  sums.replaceAllUsesWith(joined.getResults().drop_front(count));
  for (Operation *op : llvm::reverse(readers))
    op->moveAfter(rows);
  return joined;
}

std::unique_ptr<Pass> frit::createJoinColumnSums(const Target &target) {
  return std::make_unique<JoinColumnSums>(target);
}
