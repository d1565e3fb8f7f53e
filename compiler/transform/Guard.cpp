//===- Guard.cpp - Run conditional work conditionally ---------------------===//
//
//   %a = nn.matmul %x, %v : ...
//   %b = nn.matmul %x, %w : ...
//   %y = nn.where %c, %a, %b : (tensor<i1>, ...) -> ...
// ==>
//   %a = nn.guard %c is true (%x, %v) : ... {
//   ^bb0(%x: ..., %v: ...):
//     %a = nn.matmul %x, %v : ...
//     nn.yield %a : ...
//   }
//   %b = nn.guard %c is false (%x, %w) : ... { ... nn.matmul ... }
//   %y = nn.where %c, %a, %b : (tensor<i1>, ...) -> ...
//
// For a condition that depends on data, importers emit both branches of an If,
// or all iterations of a Loop, and operators that select by one truth value.
// This pass guards the operators that only an unselected operand needs: an
// operand of an nn.where, or, in Loops, the other operand of an nn.and with the
// condition. Guards nest. The pass runs before fusion, which would put the end
// of a branch and its select into one kernel that always runs.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/fusion/FusionGroups.h"
#include "dialects/nn/contraction/Contraction.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#include <queue>

namespace frit {
#define GEN_PASS_DEF_GUARD
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A truth value, and whether it equals the condition asked for or its
/// negation.
struct Truth {
  Value value;
  bool holds = true;
};

/// The condition under which an operand is used.
struct Choice {
  Value condition;
  bool when;
  bool operator==(const Choice &other) const {
    return condition == other.condition && when == other.when;
  }
};
} // namespace

/// Returns the single truth value that all elements of `condition` repeat, if
/// there is one.
static std::optional<Truth> truthOf(Value condition) {
  Truth truth = {condition};
  while (Operation *def = truth.value.getDefiningOp()) {
    if (isa<NotOp>(def))
      truth.holds = !truth.holds;
    else if (!isa<ReshapeOp, ExpandOp>(def))
      break;
    truth.value = def->getOperand(0);
  }
  auto type = tensorType(truth.value);
  if (!type.getElementType().isInteger(1) || !type.hasStaticShape() ||
      type.getNumElements() != 1 || truth.value.getDefiningOp<ConstantOp>())
    return std::nullopt;
  return truth;
}

/// Returns the condition under which an operand is used, if it is not always
/// used.
static std::optional<Choice> choiceOf(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<WhereOp>(op) && use.getOperandNumber() > 0) {
    if (auto truth = truthOf(op->getOperand(0)))
      return Choice{truth->value,
                    truth->holds == (use.getOperandNumber() == 1)};
  } else if (isa<AndOp>(op)) {
    auto truth = truthOf(op->getOperand(1 - use.getOperandNumber()));
    // `false and x` is false for any bits of x; `true or x` may depend on them.
    if (truth && truth->holds)
      return Choice{truth->value, true};
  }
  return std::nullopt;
}

static bool isFor(OpOperand &use, const Choice &choice) {
  auto other = choiceOf(use);
  return other && *other == choice;
}

/// Returns whether an operator starts a kernel, which others may join.
static bool startsKernel(Operation *op) {
  return !isa<ConstantOp, ElementwiseOp>(op) && !isMovement(op) && !isView(op);
}

static Work workOf(ArrayRef<Operation *> ops) {
  Work work;
  auto addBytes = [&](ValueRange values) {
    for (Value value : values) {
      auto type = tensorType(value);
      work.bytes += type.getNumElements() *
                    std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
    }
  };
  for (Operation *op : ops) {
    if (!startsKernel(op))
      continue;
    ++work.kernels;
    work.flops += countFlops(op);
    addBytes(op->getOperands());
    addBytes(op->getResults());
  }
  return work;
}

namespace {
/// Creates the guards of one block.
class BlockGuards {
public:
  BlockGuards(Block &block, const Target &target)
      : block(block), target(target) {}

  void run() {
    // Later selections first: they may contain earlier ones.
    for (Value condition : conditions())
      for (bool when : {true, false})
        guard({condition, when});
    for (auto guard : block.getOps<GuardOp>())
      BlockGuards(guard.getBody().front(), target).run();
  }

private:
  using Members = llvm::SmallSetVector<Operation *, 16>;

  llvm::SetVector<Value> conditions() const {
    llvm::SetVector<Value> found;
    for (Operation &op : llvm::reverse(block))
      for (OpOperand &use : op.getOpOperands())
        if (auto choice = choiceOf(use))
          found.insert(choice->condition);
    return found;
  }

  static bool isEarlier(Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  }

  /// Returns the operators that select by a condition.
  static SmallVector<Operation *> pickers(Value condition) {
    SmallVector<Operation *> found;
    SmallVector<Value> truths = {condition};
    llvm::SmallDenseSet<Operation *> seen;
    while (!truths.empty())
      for (Operation *user : truths.pop_back_val().getUsers()) {
        if (!seen.insert(user).second)
          continue;
        if (isa<WhereOp, AndOp>(user))
          found.push_back(user);
        else if (isa<NotOp, ReshapeOp, ExpandOp>(user))
          truths.push_back(user->getResult(0));
      }
    llvm::sort(found, isEarlier);
    return found;
  }

  /// Returns the operators that are needed only if `choice` holds, in reverse
  /// order.
  Members onlyFor(const Choice &choice) const {
    Members members;
    Operation *decider = choice.condition.getDefiningOp();
    // Users come after their operands, so visit the candidates from the end of
    // the block.
    std::priority_queue<Operation *, std::vector<Operation *>,
                        decltype(&isEarlier)>
        left(isEarlier);
    llvm::DenseSet<Operation *> seen;
    auto look = [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      if (op && op->getBlock() == &block && seen.insert(op).second)
        left.push(op);
    };
    for (Operation *picker : pickers(choice.condition))
      for (OpOperand &use : picker->getOpOperands())
        if (isFor(use, choice))
          look(use.get());
    while (!left.empty()) {
      Operation *op = left.top();
      left.pop();
      auto counts = [&](OpOperand &use) {
        return members.contains(use.getOwner()) || isFor(use, choice);
      };
      if (op == decider || !isPure(op) || isa<ConstantOp>(op) ||
          isCollective(op) || !llvm::all_of(op->getUses(), counts))
        continue;
      members.insert(op);
      llvm::for_each(op->getOperands(), look);
    }
    return members;
  }

  /// Folds selections by `choice` among the members, where it is known to hold.
  /// Returns whether anything changed.
  bool pick(const Members &members, const Choice &choice) const {
    bool changed = false;
    for (Operation *picker : pickers(choice.condition)) {
      auto where = dyn_cast<WhereOp>(picker);
      if (!where)
        continue;
      auto truth = truthOf(where.getCondition());
      if (!truth || truth->value != choice.condition)
        continue;
      Value picked = truth->holds == choice.when ? where.getA() : where.getB();
      if (picked.getType() != where.getY().getType())
        continue;
      for (OpOperand &use : llvm::make_early_inc_range(where->getUses()))
        if (members.contains(use.getOwner()) || isFor(use, choice)) {
          use.set(picked);
          changed = true;
        }
    }
    return changed;
  }

  void guard(const Choice &choice) {
    Members members = onlyFor(choice);
    while (pick(members, choice)) {
      eraseDead(block);
      members = onlyFor(choice);
    }
    bool changed = false;
    for (ArrayRef<Operation *> ops : levels(members)) {
      Work work = workOf(ops);
      if (!work.kernels || !target.guards(work))
        continue;
      create(choice, ops);
      changed = true;
    }
    if (changed)
      sortTopologically(&block);
  }

  /// Groups the members into levels: the number of selections among their
  /// operands. Operators between two of a level belong to it too.
  SmallVector<SmallVector<Operation *>> levels(const Members &members) const {
    SmallVector<SmallVector<Operation *>> found;
    if (members.empty())
      return found;
    llvm::DenseMap<Operation *, size_t> levelOf;
    for (Operation &op : llvm::make_range(members.back()->getIterator(),
                                          ++members.front()->getIterator())) {
      bool isMember = members.contains(&op);
      size_t level = 0;
      for (Value operand : op.getOperands())
        if (Operation *def = operand.getDefiningOp())
          level = std::max(level, levelOf.lookup(def) +
                                      (!isMember && members.contains(def)));
      levelOf[&op] = level;
      if (!isMember)
        continue;
      found.resize(std::max(found.size(), level + 1));
      found[level].push_back(&op);
    }
    return found;
  }

  /// Moves operators, in program order, into a guard.
  void create(const Choice &choice, ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
    auto isOutside = [&](OpOperand &use) {
      return !members.contains(use.getOwner());
    };
    SmallVector<Value> outputs;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUses(), isOutside))
          outputs.push_back(result);

    OpBuilder builder(ops.back());
    auto guard = GuardOp::create(builder, fuseLocations(ops),
                                 TypeRange(ValueRange(outputs)),
                                 choice.condition, choice.when, ValueRange());
    Block &body = guard.getBody().emplaceBlock();
    for (auto [output, result] : llvm::zip(outputs, guard.getResults()))
      output.replaceUsesWithIf(result, isOutside);
    IRMapping inside;
    for (Operation *op : ops) {
      for (OpOperand &use : op->getOpOperands())
        use.set(bring(use.get(), members, guard, inside));
      op->moveBefore(&body, body.end());
    }
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, guard.getLoc(), outputs);
    remark::passed(guard.getLoc(),
                   remark::RemarkOpts::name("Guarded").category("guard"))
        << remark::add("{0} operators only where {1} is {2}", ops.size(),
                       nameOf(choice.condition),
                       choice.when ? "true" : "false");
  }

  /// Returns a value for use inside the guard. Views, and constants that
  /// kernels inline, are cloned into it; others become inputs.
  static Value bring(Value value,
                     const llvm::SmallPtrSetImpl<Operation *> &members,
                     GuardOp guard, IRMapping &inside) {
    Operation *def = value.getDefiningOp();
    if (def && members.contains(def))
      return value;
    if (Value known = inside.lookupOrNull(value))
      return known;
    Block &body = guard.getBody().front();
    if (def && (isa<ConstantOp, ReshapeOp>(def) || isGenerator(def))) {
      for (Value operand : def->getOperands())
        inside.map(operand, bring(operand, members, guard, inside));
      OpBuilder builder = OpBuilder::atBlockEnd(&body);
      return builder.clone(*def, inside)->getResult(0);
    }
    guard.getInputsMutable().append(value);
    inside.map(value, body.addArgument(value.getType(), value.getLoc()));
    return inside.lookup(value);
  }

  static std::string nameOf(Value condition) {
    Operation *def = condition.getDefiningOp();
    return def ? "the result of " + nodeName(def) : "an input";
  }

  Block &block;
  const Target &target;
};

class Guard : public frit::impl::GuardBase<Guard> {
public:
  explicit Guard(const Target &target) : target(target) {}

  void runOnOperation() override {
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main"))
      if (!main.isExternal())
        BlockGuards(main.getBody().front(), target).run();
  }

private:
  const Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createGuard(const Target &target) {
  return std::make_unique<Guard>(target);
}
