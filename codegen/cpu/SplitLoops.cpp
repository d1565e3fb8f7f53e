//===- SplitLoops.cpp - Loops without the branches of a concatenation -----===//

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace frit::cpu {
#define GEN_PASS_DEF_SPLITLOOPS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// Maximum operations that loops consist of after they were split.
static constexpr size_t kMostOperations = 1024;

namespace {
/// The values that an index takes, from `low` to `high`.
struct IndexRange {
  int64_t low, high;
};
} // namespace

/// Returns the range of a value that is computed from constants and an index
/// with range `own`; none if it is not.
static std::optional<IndexRange> rangeOf(Value value, Value index,
                                         IndexRange own) {
  if (value == index)
    return own;
  if (auto constant = getConstantIntValue(value))
    return IndexRange{*constant, *constant};
  Operation *op = value.getDefiningOp();
  if (!op ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return std::nullopt;
  auto a = rangeOf(op->getOperand(0), index, own);
  auto b = rangeOf(op->getOperand(1), index, own);
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return IndexRange{a->low + b->low, a->high + b->high};
  if (isa<arith::SubIOp>(op))
    return IndexRange{a->low - b->high, a->high - b->low};
  if (isa<arith::MaxSIOp>(op))
    return IndexRange{std::max(a->low, b->low), std::max(a->high, b->high)};
  return IndexRange{std::min(a->low, b->low), std::min(a->high, b->high)};
}

/// Replaces comparisons, minima and maxima in the loop's body that its bounds
/// decide.
static void foldWithin(scf::ForOp loop, IndexRange own) {
  Value index = loop.getInductionVar();
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
    if (!isa<arith::CmpIOp, arith::MaxSIOp, arith::MinSIOp>(op))
      continue;
    auto a = rangeOf(op.getOperand(0), index, own);
    auto b = rangeOf(op.getOperand(1), index, own);
    if (!a || !b)
      continue;
    Value known;
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      bool less = a->high < b->low;
      if (compare.getPredicate() != arith::CmpIPredicate::slt ||
          (!less && a->low < b->high))
        continue;
      OpBuilder builder(&op);
      known = arith::ConstantOp::create(builder, op.getLoc(),
                                        builder.getBoolAttr(less));
    } else if (a->high <= b->low) {
      known = op.getOperand(isa<arith::MinSIOp>(op) ? 0 : 1);
    } else if (b->high <= a->low) {
      known = op.getOperand(isa<arith::MinSIOp>(op) ? 1 : 0);
    } else {
      continue;
    }
    op.getResult(0).replaceAllUsesWith(known);
    op.erase();
  }
}

/// Returns where the loop's body begins to select otherwise, in order.
static SmallVector<int64_t> findPoints(scf::ForOp loop, IndexRange own) {
  SmallVector<int64_t> points;
  for (auto compare : loop.getBody()->getOps<arith::CmpIOp>())
    if (compare.getPredicate() == arith::CmpIPredicate::slt &&
        compare.getLhs() == loop.getInductionVar())
      if (auto point = getConstantIntValue(compare.getRhs());
          point && *point > own.low && *point <= own.high)
        points.push_back(*point);
  llvm::sort(points);
  points.erase(llvm::unique(points), points.end());
  return points;
}

static void split(scf::ForOp loop) {
  auto low = getConstantIntValue(loop.getLowerBound());
  auto end = getConstantIntValue(loop.getUpperBound());
  if (!low || !end || getConstantIntValue(loop.getStep()) != 1 ||
      loop.getNumResults() != 0 ||
      llvm::any_of(*loop.getBody(),
                   [](Operation &op) { return op.getNumRegions() != 0; }))
    return;
  SmallVector<int64_t> points = findPoints(loop, {*low, *end - 1});
  size_t operations = loop.getBody()->getOperations().size();
  if (points.empty() || operations * (points.size() + 1) > kMostOperations)
    return;
  points.push_back(*end);
  OpBuilder b(loop);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loop.getLoc(), value);
  };
  for (int64_t first = *low; int64_t point : points) {
    auto part = cast<scf::ForOp>(b.clone(*loop.getOperation()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(part);
    part.setLowerBound(constant(first));
    part.setUpperBound(constant(point));
    foldWithin(part, {first, point - 1});
    first = point;
  }
  loop.erase();
}

namespace {
struct SplitLoops : frit::cpu::impl::SplitLoopsBase<SplitLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      split(loop);
  }
};
} // namespace

std::unique_ptr<Pass> frit::cpu::createSplitLoopsPass() {
  return std::make_unique<SplitLoops>();
}
