//===- ControlFlow.cpp - If and Loop --------------------------------------===//
//
// Bodies have no side effects. So a loop with a known number of steps is
// unrolled, and an If becomes one of its branches or, if the condition depends
// on the data, both branches and a select.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/detection/PasteMasks.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Unrolled.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::GraphProto;

/// Returns the value of a constant condition.
static std::optional<bool> known(Value condition) {
  DenseElementsAttr value =
      condition ? nn::constantValue(condition) : DenseElementsAttr();
  if (!value || value.getNumElements() != 1 ||
      !value.getElementType().isInteger(1))
    return std::nullopt;
  return *value.value_begin<bool>();
}

/// As Node::choose, for sequences of equally many tensors too.
static Value choose(Node &node, Value condition, Value x, Value y) {
  if (!x || !y || isList(x) != isList(y) || isStrings(x) || isStrings(y))
    return {};
  if (!isList(x)) {
    auto isSingle = [](Value value) {
      RankedTensorType type = nn::tensorType(value);
      return type.hasStaticShape() && type.getNumElements() == 1;
    };
    // A single element is a scalar in one branch, and a vector in the other.
    if (isSingle(x) && isSingle(y) && rankOf(x) != rankOf(y)) {
      Value &more = rankOf(x) > rankOf(y) ? x : y;
      more = node.reshape(more, nn::shapeOf(rankOf(x) > rankOf(y) ? y : x));
    }
    return node.choose(condition, x, y);
  }
  ValueRange left = x.getDefiningOp()->getOperands(),
             right = y.getDefiningOp()->getOperands();
  SmallVector<Value> chosen;
  if (left.size() != right.size())
    return {};
  for (auto [a, b] : llvm::zip_equal(left, right)) {
    chosen.push_back(node.choose(condition, a, b));
    if (!chosen.back())
      return {};
  }
  return listOf(node.builder(), node.loc, chosen);
}

/// Returns whether a graph makes an optional without a value.
static bool hasNone(const GraphProto &graph) {
  return llvm::any_of(graph.node(), [](const ::onnx::NodeProto &node) {
    return StringRef(node.op_type()) == "Optional" && node.input_size() == 0;
  });
}

static Results ifElse(Node &node) {
  const GraphProto *yes = node.graph("then_branch"),
                   *no = node.graph("else_branch");
  Expr condition = input(node, 0);
  if (!condition || !yes || !no)
    return {};
  if (auto value = known(condition))
    return node.inlineGraph(*value ? *yes : *no, {}, *value ? "then" : "else");
  if (hasNone(*yes) || hasNone(*no)) {
    node.error() << "its condition must be known when compiling, as a branch "
                    "gives an optional without a value"
                 << fixInputsHint(condition);
    return {};
  }
  Results a = node.inlineUnused(*yes, {}, "then");
  Results b = node.inlineUnused(*no, {}, "else");
  if (node.failed) {
    if (std::string hint = fixInputsHint(condition); !hint.empty())
      node.error() << "a branch of it cannot be compiled, and both are unless "
                      "its condition is known"
                   << hint;
    return {};
  }
  Results results;
  condition = condition.reshape({});
  for (auto [x, y] : llvm::zip(a, b)) {
    results.push_back(choose(node, condition, x, y));
    if (!results.back() && !node.failed) {
      auto error = node.error();
      error << "its condition must be known when compiling, as its branches "
               "give ";
      if (isStrings(x) || isStrings(y))
        error << "strings";
      else
        error << "a " << x.getType() << " and a " << y.getType();
      error << fixInputsHint(condition);
    }
  }
  return results;
}

/// As stackSteps for zero steps: importing the body once gives the shape.
static Value stackNone(Node &node, const GraphProto &body,
                       ArrayRef<Value> state, size_t which) {
  OpBuilder &b = node.builder();
  Results inputs = {node.scalar(b.getI64Type(), 0),
                    node.scalar(b.getI1Type(), 1)};
  inputs.append(state.begin(), state.end());
  Results step = node.inlineUnused(body, inputs, "step");
  size_t at = 1 + state.size() + which;
  if (!areTensors(node, step) || step.size() <= at)
    return {};
  Value value = step[at];
  auto shape = sizes(value);
  shape.insert(shape.begin(), 0);
  return node.constant(DenseElementsAttr::get(
      RankedTensorType::get(shape, elementOf(value)), ArrayRef<Attribute>()));
}

/// Returns an upper bound of an integer from the Min, Clip or select that
/// computes it, through at most `depth` operators.
static std::optional<int64_t> mostOf(const DataSizes &sizes, Value value,
                                     unsigned depth = 8) {
  while (value) {
    if (auto size = sizes.elementsOf(value); size && size->size() == 1)
      if (int64_t most = sizes.mostOf(size->front()); most < kEndless)
        return most;
    DenseElementsAttr known = nn::constantValue(value);
    if (known && isa<IntegerType>(known.getElementType()) &&
        known.getNumElements() == 1)
      return known.getSplatValue<APInt>().getSExtValue();
    Operation *op = value.getDefiningOp();
    if (!op || !isa<IntegerType>(elementOf(value)))
      return std::nullopt;
    if (isa<nn::MinOp, nn::MaxOp, nn::WhereOp>(op)) {
      if (depth == 0)
        return std::nullopt;
      auto a =
          mostOf(sizes, op->getOperand(op->getNumOperands() - 2), depth - 1);
      auto b = mostOf(sizes, op->getOperands().back(), depth - 1);
      if (a && b)
        return isa<nn::MinOp>(op) ? std::min(*a, *b) : std::max(*a, *b);
      return isa<nn::MinOp>(op) ? (a ? a : b) : std::nullopt;
    }
    if (!isa<nn::ReshapeOp, nn::ExpandOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// Builds the condition that step `i` runs: `i` is below `limit`, and
/// `condition` holds. Null means no limit, and always true.
static Value within(Expr limit, int64_t i, Value condition) {
  if (!limit || (condition && known(condition) == false))
    return condition;
  Expr below = limit.number(static_cast<double>(i)) < limit;
  if (!condition)
    return below;
  return below & Expr{*limit.node, limit.node->reshape(condition, {})};
}

namespace {
/// Unrolls a Loop. If the condition or the number of steps depends on the data,
/// it computes all steps up to a bound: after the last one that runs, states
/// keep their values and collected values are invalid.
class UnrolledLoop {
public:
  UnrolledLoop(Node &node, const GraphProto &body) : node(node), body(body) {}

  Results run() {
    if (!readBounds() || !readState())
      return {};
    taken = {node, node.scalar(node.builder().getI64Type(), 0)};
    for (int64_t i = 0; (!count || i < *count) && !isOver(); ++i)
      if (!runStep(i))
        return {};
    return results();
  }

private:
  /// Returns whether it is known that no more steps run.
  bool isOver() const { return condition && known(condition) == false; }

  bool readBounds() {
    if (node.has(0)) {
      Value steps = node.input(0);
      if (steps && !nn::constantValue(steps))
        count = mostOf(node.dataSizes(), steps);
      if (count && nn::tensorType(steps).getNumElements() == 1)
        limit = Expr{node, node.reshape(steps, {})};
      else
        count = node.integer(0);
    }
    condition = node.has(1) ? node.input(1) : Value();
    if (condition && known(condition) == true)
      condition = {};
    condition = within(limit, 0, condition);
    return !node.failed;
  }

  bool readState() {
    auto given = node.inputs();
    state = Results(given.drop_front(std::min<size_t>(2, given.size())));
    if (body.output_size() < 1 ||
        state.size() > size_t(body.output_size()) - 1) {
      node.error() << "its body has too few outputs";
      return false;
    }
    collected.resize(body.output_size() - 1 - state.size());
    return true;
  }

  bool runStep(int64_t i) {
    isOpen = condition && !known(condition);
    if (i == mostSteps || (isOpen && (!count || *count > mostSteps)))
      node.error() << "its number of steps must be known when compiling and at "
                      "most "
                   << mostSteps;
    if (node.failed)
      return false;
    OpBuilder &b = node.builder();
    Type i64 = b.getI64Type();
    taken = isOpen ? taken + scalarCondition().to(i64) : taken + 1.0;
    Results inputs = {node.scalar(i64, static_cast<double>(i)),
                      condition ? condition : node.scalar(b.getI1Type(), 1)};
    inputs.append(state.begin(), state.end());
    std::string name = "step" + std::to_string(i);
    Results results = isOpen ? node.inlineUnused(body, inputs, name)
                             : node.inlineGraph(body, inputs, name);
    if (node.failed || results.size() != 1 + state.size() + collected.size())
      return false;
    // A step that surely runs may return other states than tensors.
    ArrayRef<Value> selected = results;
    if (!isOpen)
      selected = selected.drop_front(1 + state.size());
    if (!areTensors(node, selected, isOpen ? condition : Value()))
      return false;
    for (auto [old, next] : llvm::zip(state, ArrayRef(results).drop_front()))
      if (!update(old, next))
        return false;
    for (auto [all, value] :
         llvm::zip(collected, ArrayRef(results).take_back(collected.size())))
      collect(all, value);
    advance(i, results[0]);
    return true;
  }

  /// Replaces a state by its next value if the step runs.
  bool update(Value &old, Value next) {
    if (!isOpen || !next || !old) {
      old = next;
      return true;
    }
    Value chosen = node.choose(scalarCondition(), next, old);
    if (!chosen && !node.failed)
      node.error() << "its condition must be known when compiling, as a step "
                      "makes a "
                   << next.getType() << " of a " << old.getType()
                   << fixInputsHint(condition);
    old = chosen;
    return bool(chosen);
  }

  /// Collects a step's value. If the step does not run, any value will do.
  void collect(SmallVectorImpl<Value> &all, Value value) {
    if (isOpen && value)
      value = scalarCondition().select(value, node.scalar(elementOf(value), 0));
    all.push_back(value);
  }

  /// Sets the condition of the step after `i` from the body's output `goesOn`.
  void advance(int64_t i, Value goesOn) {
    if (known(goesOn) == true)
      goesOn = {};
    else if (isOpen)
      goesOn = Expr{node, node.reshape(goesOn, {})} & scalarCondition();
    condition = goesOn || !condition || known(condition) ? goesOn : condition;
    condition = within(limit, i + 1, condition);
  }

  Expr scalarCondition() { return {node, node.reshape(condition, {})}; }

  Results results() {
    Results all = state;
    for (auto [i, steps] : llvm::enumerate(collected))
      all.push_back(steps.empty() ? stackNone(node, body, state, i)
                                  : stackSteps(node, steps, 0));
    if (nn::constantValue(taken) || collected.empty())
      return all;
    Size total = node.count(taken, static_cast<int64_t>(collected[0].size()));
    for (Value &value : MutableArrayRef(all).take_back(collected.size()))
      value = node.markedAlong(value, 0, total);
    return all;
  }

  Node &node;
  const GraphProto &body;
  std::optional<int64_t> count; ///< most steps; none: until the condition fails
  Expr limit = {node, {}};      ///< number of steps, if it depends on the data
  Value condition;              ///< of the next step; null: it runs
  bool isOpen = false; ///< whether the data decide if the current step runs
  Results state;
  SmallVector<SmallVector<Value>> collected; ///< by output, then by step
  Expr taken = {node, {}};                   ///< number of steps that ran
};
} // namespace

static Results loop(Node &node) {
  const GraphProto *body = node.graph("body");
  if (!body)
    return {};
  if (auto pasted = pasteMasks(node, *body); pasted || node.failed)
    return pasted.value_or(Results());
  return UnrolledLoop(node, *body).run();
}

ArrayRef<Hook> frit::importer::controlFlowHooks() {
  static constexpr Hook hooks[] = {
      {"If", 1, 1, 1, ifElse, takesCounts},
      {"Loop", 1, 1, -1, loop, takesLists | takesCounts},
  };
  return hooks;
}
