//===- Scan.cpp - Scan ----------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Unrolled.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::GraphProto;

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
    state.push_back(stackSteps(node, steps[i], rule.axis));
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

/// Imports Scan before opset 9: the first dimension is the batch, whose entries
/// are scanned one after another along the second.
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
    joined.push_back(node.failed ? Value() : stackSteps(node, all, 0));
  return joined;
}

ArrayRef<Hook> frit::importer::scanHooks() {
  static constexpr Hook hooks[] = {
      {"Scan", 8, 2, -1, scanBatch},
      {"Scan", 9, 1, -1, scan},
  };
  return hooks;
}
