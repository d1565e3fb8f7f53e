//===- ControlFlow.cpp - If, Loop and Scan --------------------------------===//
//
// Bodies have no side effects. So a loop with a known number of steps is
// unrolled, and an If becomes one of its branches or, if the condition depends
// on the data, both branches and a select.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/PasteMasks.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

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

/// Returns whether all values are tensors of numbers; reports an error
/// otherwise. Only these can be selected by data, as by `condition` if it is
/// not null, or joined.
static bool areTensors(Node &node, ValueRange values, Value condition = {}) {
  auto other = llvm::find_if_not(values, isTensor);
  if (!node.failed && other != values.end())
    node.error() << "its subgraph returns " << kindOf(*other)
                 << ", which is not supported if the condition depends on the "
                    "data or steps are joined"
                 << (condition ? fixInputsHint(condition) : "");
  return !node.failed;
}

/// As Node::choose, for sequences of equally many tensors too.
static Value choose(Node &node, Value condition, Value x, Value y) {
  if (!x || !y || isList(x) != isList(y) || isStrings(x) || isStrings(y))
    return {};
  if (!isList(x))
    return node.choose(condition, x, y);
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
  Results a = node.inlineGraph(*yes, {}, "then");
  Results b = node.inlineGraph(*no, {}, "else");
  if (node.failed)
    return {};
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

/// Joins the values of all steps along a new dimension.
static Value stack(Node &node, ArrayRef<Value> steps, int64_t axis) {
  SmallVector<Value> parts;
  for (Value step : steps) {
    if (!step)
      return {};
    auto shape = sizes(step);
    axis = node.axis(axis, rankOf(step) + 1);
    if (node.failed)
      return {};
    shape.insert(shape.begin() + axis, 1);
    parts.push_back(node.reshape(step, shape));
  }
  return parts.size() == 1 ? parts[0] : node.concat(parts, axis);
}

/// As above for zero steps: importing the body once gives the shape.
static Value stackNone(Node &node, const GraphProto &body,
                       ArrayRef<Value> state, size_t which) {
  OpBuilder &b = node.builder();
  Results inputs = {node.scalar(b.getI64Type(), 0),
                    node.scalar(b.getI1Type(), 1)};
  inputs.append(state.begin(), state.end());
  Results step = node.inlineGraph(body, inputs, "step");
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

/// Imports Loop. If the condition or the number of steps depends on the data,
/// all steps up to a bound are computed: after the last one that runs, states
/// keep their values and collected values are invalid.
static Results loop(Node &node) {
  const GraphProto *body = node.graph("body");
  if (!body)
    return {};
  if (auto pasted = pasteMasks(node, *body); pasted || node.failed)
    return pasted.value_or(Results());
  std::optional<int64_t> count;
  Expr limit = {node, {}}; // number of steps, if it depends on the data
  if (node.has(0)) {
    Value steps = node.input(0);
    if (steps && !nn::constantValue(steps))
      count = mostOf(node.dataSizes(), steps);
    if (count && nn::tensorType(steps).getNumElements() == 1)
      limit = Expr{node, node.reshape(steps, {})};
    else
      count = node.integer(0);
  }
  Value condition = node.has(1) ? node.input(1) : Value();
  if (condition && known(condition) == true)
    condition = {};
  condition = within(limit, 0, condition);
  if (node.failed)
    return {};
  Results state(
      node.inputs().drop_front(std::min<size_t>(2, node.inputs().size())));
  size_t outputs = body->output_size() - 1;
  if (body->output_size() < 1 || state.size() > outputs) {
    node.error() << "its body has too few outputs";
    return {};
  }
  bool collects = outputs > state.size();
  SmallVector<SmallVector<Value>> collected(outputs - state.size());
  OpBuilder &b = node.builder();
  Type i64 = b.getI64Type();
  // Number of steps that ran.
  Expr taken = {node, node.scalar(i64, 0)};
  for (int64_t i = 0; !count || i < *count; ++i) {
    if (condition && known(condition) == false)
      break;
    bool isOpen = condition && !known(condition);
    if (i == mostSteps || (isOpen && (!count || *count > mostSteps))) {
      node.error() << "its number of steps must be known when compiling and at "
                      "most "
                   << mostSteps;
      return {};
    }
    if (node.failed)
      return {};
    taken = isOpen ? taken + Expr{node, node.reshape(condition, {})}.to(i64)
                   : taken + 1.0;
    Results inputs = {node.scalar(i64, static_cast<double>(i)),
                      condition ? condition : node.scalar(b.getI1Type(), 1)};
    inputs.append(state.begin(), state.end());
    Results results =
        node.inlineGraph(*body, inputs, "step" + std::to_string(i));
    if (node.failed || results.size() != outputs + 1)
      return {};
    Value goesOn = results[0];
    if (!areTensors(node,
                    ArrayRef(results).drop_front(isOpen ? 0 : state.size() + 1),
                    isOpen ? condition : Value()))
      return {};
    for (size_t s = 0; s < state.size(); ++s) {
      Expr next = {node, results[s + 1]};
      if (isOpen && next && state[s]) {
        next = {node, node.choose(node.reshape(condition, {}), next, state[s])};
        if (!next && !node.failed)
          node.error() << "its condition must be known when compiling, as a "
                          "step makes a "
                       << results[s + 1].getType() << " of a "
                       << state[s].getType() << fixInputsHint(condition);
        if (!next)
          return {};
      }
      state[s] = next;
    }
    for (size_t s = state.size(); s < outputs; ++s) {
      Expr value = {node, results[s + 1]};
      // Any value will do for a step that does not run.
      if (isOpen && value)
        value = Expr{node, node.reshape(condition, {})}.select(
            value, node.scalar(elementOf(value), 0));
      collected[s - state.size()].push_back(value);
    }
    if (known(goesOn) == true)
      goesOn = {};
    else if (isOpen)
      goesOn = Expr{node, node.reshape(goesOn, {})} &
               Expr{node, node.reshape(condition, {})};
    condition = goesOn || !condition || known(condition) ? goesOn : condition;
    condition = within(limit, i + 1, condition);
  }
  size_t states = state.size();
  for (auto [s, steps] : llvm::enumerate(collected))
    state.push_back(
        steps.empty()
            ? stackNone(node, *body, ArrayRef(state).take_front(states), s)
            : stack(node, steps, 0));
  if (nn::constantValue(taken) || !collects)
    return state;
  Size total = node.count(taken, static_cast<int64_t>(collected[0].size()));
  for (Value &all : MutableArrayRef(state).take_back(collected.size()))
    all = node.markedAlong(all, 0, total);
  return state;
}

namespace {

/// How Scan slices or joins a tensor.
struct ScanRule {
  int64_t axis = 0;
  bool isBackward = false;
};

} // namespace

/// Runs `body` on the elements of `inputs` along their axes. `state` becomes
/// the last state; results are joined along the axes of `outputs`. `name`
/// distinguishes several runs.
static Results scanElements(Node &node, const GraphProto &body, Results state,
                            ArrayRef<Value> inputs, ArrayRef<ScanRule> inRules,
                            ArrayRef<ScanRule> outRules, StringRef name) {
  int64_t count = -1;
  SmallVector<int64_t> axes;
  for (auto [x, rule] : llvm::zip_equal(inputs, inRules)) {
    if (!x)
      return {};
    axes.push_back(node.axis(rule.axis, rankOf(x)));
    if (node.failed)
      return {};
    int64_t size = sizes(x)[axes.back()];
    if (size < 1 || size > mostSteps || (count >= 0 && size != count)) {
      node.error() << "cannot scan " << size << " elements, but from 1 to "
                   << mostSteps << ", as many of every input";
      return {};
    }
    count = size;
  }
  size_t states = state.size();
  SmallVector<SmallVector<Value>> steps(outRules.size());
  for (int64_t step = 0; step < count && !node.failed; ++step) {
    Results given = state;
    for (auto [i, value] : llvm::enumerate(inputs)) {
      Expr x = {node, value};
      auto shape = x.shape();
      shape.erase(shape.begin() + axes[i]);
      int64_t at = inRules[i].isBackward ? count - 1 - step : step;
      given.push_back(x.slice(axes[i], at, 1).reshape(shape));
    }
    Results results =
        node.inlineGraph(body, given, (name + "step" + Twine(step)).str());
    if (node.failed || !areTensors(node, results))
      return {};
    for (size_t s = 0; s < states; ++s)
      state[s] = results[s];
    for (auto [i, rule] : llvm::enumerate(outRules))
      steps[i].insert(rule.isBackward ? steps[i].begin() : steps[i].end(),
                      results[states + i]);
  }
  for (auto [i, rule] : llvm::enumerate(outRules))
    state.push_back(stack(node, steps[i], rule.axis));
  return state;
}

/// Returns the number of states among `total` inputs, which precede those that
/// are scanned; none, after an error, if it is impossible.
static std::optional<int64_t> countStates(Node &node, const GraphProto *body,
                                          int64_t total) {
  int64_t scanned = node.integer("num_scan_inputs", 0);
  int64_t states = total - scanned;
  if (body && scanned >= 1 && states >= 0 && body->output_size() >= states)
    return states;
  if (!node.failed)
    node.error() << "has no body for its " << total << " inputs";
  return std::nullopt;
}

/// Returns the entries of an attribute with one for each of `size` tensors.
static SmallVector<int64_t> entries(Node &node, StringRef name, int64_t size) {
  auto values = node.integers(name).value_or(SmallVector<int64_t>(size, 0));
  if (static_cast<int64_t>(values.size()) != size)
    node.error() << "attribute '" << name << "' has " << values.size()
                 << " entries instead of " << size;
  values.resize(size, 0);
  return values;
}

static Results scan(Node &node) {
  const GraphProto *body = node.graph("body");
  auto states = countStates(node, body, node.inputs().size());
  if (!states)
    return {};
  auto rules = [&](StringRef direction, int64_t size) {
    std::string prefix = ("scan_" + direction).str();
    SmallVector<ScanRule> all;
    for (auto [axis, isBackward] :
         llvm::zip_equal(entries(node, prefix + "_axes", size),
                         entries(node, prefix + "_directions", size)))
      all.push_back({axis, isBackward != 0});
    return all;
  };
  auto inputs = node.inputs().drop_front(*states);
  return scanElements(node, *body, Results(node.inputs().take_front(*states)),
                      inputs, rules("input", inputs.size()),
                      rules("output", body->output_size() - *states), "");
}

/// Before opset 9, the first dimension is the batch, whose entries are scanned
/// one after another along the second.
static Results scanBatch(Node &node) {
  const GraphProto *body = node.graph("body");
  auto inputs = node.inputs().drop_front();
  auto states = countStates(node, body, inputs.size());
  if (!states)
    return {};
  if (node.has(0))
    node.error() << "sequences of different lengths are not supported";
  SmallVector<ScanRule> inRules(inputs.size() - *states),
      outRules(body->output_size() - *states);
  for (auto [rule, isBackward] :
       llvm::zip_equal(inRules, entries(node, "directions", inRules.size())))
    rule.isBackward = isBackward;
  int64_t batch = -1;
  for (Value x : inputs) {
    int64_t own = x && rankOf(x) ? sizes(x)[0] : 0;
    if (own < 1 || own > mostSteps || (batch >= 0 && own != batch))
      node.error() << "cannot scan a batch of " << own;
    batch = own;
    if (node.failed)
      return {};
  }
  SmallVector<SmallVector<Value>> results(body->output_size());
  for (int64_t entry = 0; entry < batch && !node.failed; ++entry) {
    Results own;
    for (Value value : inputs) {
      Expr x = {node, value};
      own.push_back(
          x.slice(0, entry, 1).reshape(ArrayRef(x.shape()).drop_front()));
    }
    Results state(own.begin(), own.begin() + *states);
    Results scanned =
        scanElements(node, *body, state, ArrayRef(own).drop_front(*states),
                     inRules, outRules, ("batch" + Twine(entry) + "/").str());
    for (auto [all, value] : llvm::zip(results, scanned))
      all.push_back(value);
  }
  Results joined;
  for (ArrayRef<Value> all : results)
    joined.push_back(node.failed ? Value() : stack(node, all, 0));
  return joined;
}

ArrayRef<Hook> frit::importer::controlFlowHooks() {
  static constexpr Hook hooks[] = {
      {"If", 1, 1, 1, ifElse, false, true},
      {"Loop", 1, 1, -1, loop, true, true},
      {"Scan", 8, 2, -1, scanBatch},
      {"Scan", 9, 1, -1, scan},
  };
  return hooks;
}
