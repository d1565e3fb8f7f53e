//===- Training.cpp - Gradients and steps of optimizers -------------------===//
//
// Inputs of a step: learning rate, step count, then all tensors, all gradients
// and all of each kind of state. Outputs: the new tensors and states.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"
#include "dialects/nn/gradients/Gradients.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Calls `step` for every tensor with its gradient and its states, which it
/// updates; collects the outputs.
static Results forEachTensor(
    Node &node, size_t states,
    llvm::function_ref<Expr(Expr, Expr, MutableArrayRef<Expr>)> step) {
  size_t kinds = states + 2, given = node.inputs().size() - 2;
  double decay = node.real("norm_coefficient", 0);
  if (given % kinds) {
    node.error() << "has " << given << " tensors for " << kinds << " kinds";
    return {};
  }
  size_t count = given / kinds;
  Results results(count * (states + 1));
  for (size_t i = 0; i < count; ++i) {
    auto tensor = [&](size_t kind) {
      return input(node, 2 + kind * count + i);
    };
    Expr x = tensor(0), gradient = tensor(1);
    SmallVector<Expr> state;
    for (size_t s = 0; s < states; ++s)
      state.push_back(tensor(2 + s));
    if (decay != 0)
      gradient = gradient + x * decay;
    results[i] = step(x, gradient, state);
    for (size_t s = 0; s < states; ++s)
      results[(s + 1) * count + i] = state[s];
  }
  return results;
}

/// Returns the learning rate, and the step count in the same type.
static std::pair<Expr, Expr> rateAndCount(Node &node) {
  Expr rate = input(node, 0).reshape({});
  return {rate, input(node, 1).reshape({}).to(rate.element())};
}

static Results momentum(Node &node) {
  double alpha = node.real("alpha", 0), beta = node.real("beta", 1);
  bool nesterov = node.string("mode", "standard") == "nesterov";
  auto [rate, count] = rateAndCount(node);
  Expr later = (count > 0.0).select(rate.number(beta), rate.number(1));
  return forEachTensor(
      node, 1, [&, rate = rate](Expr x, Expr g, MutableArrayRef<Expr> s) {
        s[0] = s[0] * alpha + later * g;
        Expr way = nesterov ? g + s[0] * alpha : s[0];
        return x - rate * way;
      });
}

/// Imports Adagrad: Duchi, Hazan and Singer, JMLR 12 (2011).
static Results adagrad(Node &node) {
  double epsilon = node.real("epsilon", 1e-6);
  double decay = node.real("decay_factor", 0);
  auto [rate, count] = rateAndCount(node);
  Expr step = rate / (count * decay + 1.0);
  return forEachTensor(node, 1, [&](Expr x, Expr g, MutableArrayRef<Expr> s) {
    s[0] = s[0] + g * g;
    return x - step * g / (s[0].apply<nn::SqrtOp>() + epsilon);
  });
}

/// Imports Adam: Kingma and Ba, arXiv:1412.6980.
static Results adam(Node &node) {
  double alpha = node.real("alpha", 0.9), beta = node.real("beta", 0.999);
  double epsilon = node.real("epsilon", 1e-6);
  double after = node.real("norm_coefficient_post", 0);
  auto [rate, count] = rateAndCount(node);
  // Bias correction of the moments: 1 - b^t.
  auto grown = [&, count = count](double b) {
    return 1.0 - (count * std::log(b)).apply<nn::ExpOp>();
  };
  Expr adjusted = rate * grown(beta).apply<nn::SqrtOp>() / grown(alpha);
  Expr step = (count > 0.0).select(adjusted, rate);
  return forEachTensor(node, 2, [&](Expr x, Expr g, MutableArrayRef<Expr> s) {
    s[0] = s[0] * alpha + g * (1 - alpha);
    s[1] = s[1] * beta + g * g * (1 - beta);
    Expr y = x - step * s[0] / (s[1].apply<nn::SqrtOp>() + epsilon);
    return after == 0 ? y : y * (1 - after);
  });
}

/// Copies the operators between `xs` and `y`, so that building gradients may
/// take them apart. Returns the copy of `y`.
static Value copyPath(OpBuilder &b, ArrayRef<Value> xs, Value y) {
  IRMapping copies;
  for (Value x : xs)
    copies.map(x, x);
  for (Operation &op : llvm::make_early_inc_range(*y.getParentBlock())) {
    if (llvm::any_of(op.getResults(),
                     [&](Value v) { return copies.contains(v); }))
      continue;
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return copies.contains(v); }))
      b.clone(op, copies);
    if (y.getDefiningOp() == &op)
      break;
  }
  return copies.lookupOrDefault(y);
}

/// Imports Gradient: the gradients of the number `y` with respect to the values
/// `xs`. Attributes name both.
static Results gradient(Node &node) {
  auto names = node.strings("xs"), constants = node.strings("zs");
  Value y = node.valueCalled(node.string("y", ""));
  SmallVector<Value> xs(node.inputs());
  if (node.failed)
    return {};
  if (names.size() + constants.size() != xs.size()) {
    node.error() << "has " << xs.size() << " inputs, but names "
                 << names.size() + constants.size();
    return {};
  }
  for (auto [x, name] : llvm::zip(xs, names))
    if (node.valueCalled(name) != x && !node.failed)
      node.error() << "differentiates at another value than that of '" << name
                   << "', which is not supported";
  xs.truncate(names.size());
  auto isDifferentiable = [](Value v) {
    return v && isTensor(v) && !isMarked(v) && isa<FloatType>(elementOf(v));
  };
  for (auto [x, name] : llvm::zip(xs, names))
    if (!node.failed && !isDifferentiable(x))
      node.error() << "differentiates with respect to floats of known sizes, "
                      "which '"
                   << name << "' is not";
  if (node.failed)
    return {};
  if (!isDifferentiable(y) || nn::tensorType(y).getNumElements() != 1) {
    node.error() << "differentiates a single float, which '"
                 << node.string("y", "") << "' is not";
    return {};
  }
  y = copyPath(node.builder(), xs, y);
  auto found = buildGradients(y, node.scalar(y, 1), xs);
  if (failed(found)) {
    node.failed = true;
    return {};
  }
  Results results;
  for (auto [x, dx] : llvm::zip(xs, *found))
    results.push_back(dx ? node.cast(dx, elementOf(x))
                         : Value(filled(node, elementOf(x), sizes(x), 0)));
  return results;
}

ArrayRef<Hook> frit::importer::trainingHooks() {
  static constexpr Hook hooks[] = {
      {"ai.onnx.preview.training::Gradient", 1, 1, -1, gradient},
      {"ai.onnx.preview.training::Momentum", 1, 3, -1, momentum},
      {"ai.onnx.preview.training::Adagrad", 1, 3, -1, adagrad},
      {"ai.onnx.preview.training::Adam", 1, 3, -1, adam},
  };
  return hooks;
}
