//===- Recurrent.cpp - LSTM, GRU and RNN ----------------------------------===//
//
// The number of steps is known, so the loop is unrolled. The products with the
// inputs are one product for all steps. Hochreiter and Schmidhuber, "Long
// Short-Term Memory", 1997; Cho et al., arXiv:1406.1078.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// An activation: its name in lower case, the values of its parameters, none
/// for one that it does not take, and its formula.
struct Activation {
  StringLiteral name;
  std::optional<double> alpha, beta;
  Expr (*build)(Expr x, double alpha, double beta);
};

/// Parameters common to LSTM, GRU and RNN.
struct Recurrence {
  int64_t gates, directions, hidden, steps, batch;
  bool batchFirst;
  double clip = 0;
  SmallVector<Activation> activations; ///< per direction
  Expr x;                              ///< steps×batch×inputs
  Value lengths;
};

} // namespace

/// Builds one operator.
template <typename Op> static Expr apply(Expr x, double, double) {
  return x.apply<Op>();
}

/// All activations, with ONNX's default parameters.
static const Activation knownActivations[] = {
    {"sigmoid", {}, {}, apply<nn::SigmoidOp>},
    {"tanh", {}, {}, apply<nn::TanhOp>},
    {"relu", {}, {}, apply<nn::ReluOp>},
    {"softplus", {}, {}, apply<nn::SoftplusOp>},
    {"softsign",
     {},
     {},
     [](Expr x, double, double) { return x / (x.apply<nn::AbsOp>() + 1.0); }},
    {"affine", 1, 0,
     [](Expr x, double alpha, double beta) { return x * alpha + beta; }},
    {"leakyrelu",
     0.01,
     {},
     [](Expr x, double alpha, double) {
       return (x < 0.0).select(x * alpha, x);
     }},
    {"thresholdedrelu",
     1,
     {},
     [](Expr x, double alpha, double) {
       return (x > alpha).select(x, x.number(0));
     }},
    {"elu",
     1,
     {},
     [](Expr x, double alpha, double) {
       return (x < 0.0).select((x.apply<nn::ExpOp>() - 1.0) * alpha, x);
     }},
    {"scaledtanh", 1, 1,
     [](Expr x, double alpha, double beta) {
       return (x * beta).apply<nn::TanhOp>() * alpha;
     }},
    {"hardsigmoid", 0.2, 0.5,
     [](Expr x, double alpha, double beta) {
       return (x * alpha + beta).clamp(0, 1);
     }},
};

/// Sets the parameters that an attribute gives: a value for each activation
/// that takes one, in their order.
static void readParameters(Node &node, StringRef attribute,
                           MutableArrayRef<Activation> activations,
                           std::optional<double> Activation::*parameter) {
  SmallVector<double> given = node.reals(attribute);
  auto takers = llvm::count_if(activations, [&](const Activation &activation) {
    return (activation.*parameter).has_value();
  });
  if (given.empty())
    return;
  if (given.size() != static_cast<size_t>(takers)) {
    node.error() << "attribute '" << attribute << "' has " << given.size()
                 << (given.size() == 1 ? " value, but " : " values, but ")
                 << takers << " of the activations "
                 << (takers == 1 ? "takes one" : "take one");
    return;
  }
  const double *next = given.begin();
  for (Activation &activation : activations)
    if (activation.*parameter)
      activation.*parameter = *next++;
}

/// Returns the activations of all directions; `defaults` are those of one.
static SmallVector<Activation> readActivations(Node &node, int64_t directions,
                                               ArrayRef<StringRef> defaults) {
  SmallVector<StringRef> names = node.strings("activations");
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i)
      names.append(defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * directions)
    node.error() << "has " << names.size() << " activations instead of "
                 << defaults.size() * directions;
  SmallVector<Activation> activations;
  for (StringRef name : names) {
    const auto *known =
        llvm::find_if(knownActivations, [&](const Activation &activation) {
          return name.equals_insensitive(activation.name);
        });
    if (known == std::end(knownActivations))
      node.error() << "activation '" << name << "' is not supported";
    else
      activations.push_back(*known);
  }
  if (node.failed)
    return {};
  readParameters(node, "activation_alpha", activations, &Activation::alpha);
  readParameters(node, "activation_beta", activations, &Activation::beta);
  return activations;
}

static std::optional<Recurrence> read(Node &node, int64_t gates,
                                      ArrayRef<StringRef> defaults) {
  Recurrence r{gates, 1, 0, 0, 0, false, 0, {}, input(node, 0), {}};
  StringRef direction = node.string("direction", "forward");
  if (!llvm::is_contained({"forward", "reverse", "bidirectional"}, direction))
    node.error() << "attribute 'direction' is '" << direction
                 << "', which is none of forward, reverse, bidirectional";
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.batchFirst = node.integer("layout", 0);
  r.clip = node.real("clip", 0);
  Value w = node.input(1), weights = node.input(2);
  if (!r.x || !w || !weights)
    return std::nullopt;
  r.hidden =
      node.integer("hidden_size", rankOf(weights) == 3 ? sizes(weights)[2] : 0);
  if (r.x.rank() == 3 && r.batchFirst)
    r.x = r.x.transpose({1, 0, 2});
  // The attribute is multiplied only once it matches a size, so nothing
  // overflows.
  if (r.x.rank() != 3 || rankOf(w) != 3 || rankOf(weights) != 3 ||
      sizes(weights)[2] != r.hidden ||
      sizes(w) !=
          SmallVector<int64_t>{r.directions, gates * r.hidden, r.x.size(2)} ||
      sizes(weights) !=
          SmallVector<int64_t>{r.directions, gates * r.hidden, r.hidden}) {
    node.error() << "weights of shape " << nn::shapeText(sizes(w)) << " and "
                 << nn::shapeText(sizes(weights)) << " do not fit "
                 << r.directions << " directions of " << r.hidden
                 << " elements on " << nn::shapeText(r.x.shape());
    return std::nullopt;
  }
  r.steps = r.x.size(0);
  r.batch = r.x.size(1);
  if (r.steps > mostSteps) {
    node.error() << r.steps << " steps are more than " << mostSteps
                 << ", the most that are laid out one after another";
    return std::nullopt;
  }
  if (node.has(4))
    r.lengths = node.input(4);
  node.checkNumbers(r.lengths, 0, r.steps,
                    "takes lengths of at most " + Twine(r.steps) + " steps");
  r.activations = readActivations(node, r.directions, defaults);
  if (node.failed)
    return std::nullopt;
  return r;
}

/// Returns row `i` of the first dimension, without that dimension.
static Expr row(Expr x, int64_t i) {
  if (!x || !x.node->hasDimension(x, 0))
    return {*x.node, {}};
  auto shape = x.shape();
  shape.erase(shape.begin());
  return x.slice(0, i, 1).reshape(shape);
}

/// Builds x · wᵀ.
static Expr project(Expr x, Expr w) {
  return x.apply<nn::MatmulOp>(
      {w}, x.node->named("transpose_b", x.node->builder().getUnitAttr()));
}

namespace {

/// One direction of a recurrence.
class Direction {
public:
  Direction(Node &node, const Recurrence &r, int64_t index)
      : node(node), r(r), index(index), input(r.x), recurrent(r.x), bias(r.x),
        recurrentBias(r.x) {
    Expr w = row({node, node.input(1)}, index);
    recurrent = row({node, node.input(2)}, index);
    input = project(r.x, w);
    int64_t size = r.gates * r.hidden;
    if (node.has(3)) {
      Expr both = row({node, node.input(3)}, index);
      bias = both.slice(0, 0, size);
      recurrentBias = both.slice(0, size, size);
    } else {
      bias = recurrentBias = filled(node, r.x.element(), {size}, 0);
    }
  }

  /// Returns the initial state from input `i`, or zeros.
  Expr initial(size_t i) {
    if (!node.has(i))
      return filled(node, r.x.element(), {r.batch, r.hidden}, 0);
    Expr given = {node, node.input(i)};
    if (r.batchFirst)
      given = given.transpose({1, 0, 2});
    return row(given, index);
  }
  /// Slices gate `i` from the matrix of all gates.
  Expr gate(Expr all, int64_t i) {
    return all.slice(all.rank() - 1, i * r.hidden, r.hidden);
  }
  Expr activation(Expr x, size_t which) {
    if (r.clip > 0)
      x = x.clamp(-r.clip, r.clip);
    size_t i = index * (r.activations.size() / r.directions) + which;
    const Activation &chosen = r.activations[i];
    return chosen.build(x, chosen.alpha.value_or(0), chosen.beta.value_or(0));
  }
  /// Keeps the state of sequences that have ended.
  Expr unlessEnded(int64_t step, Expr next, Expr before) {
    if (!r.lengths)
      return next;
    Expr length = Expr{node, r.lengths}.reshape({r.batch, 1});
    return (length > static_cast<double>(step)).select(next, before);
  }
  /// Sets the outputs of sequences that have ended to zero.
  Expr shown(int64_t step, Expr y) { return unlessEnded(step, y, y.number(0)); }
  /// Returns the index of the direction's i-th step.
  int64_t stepAt(int64_t i) const { return reversed ? r.steps - 1 - i : i; }

  Node &node;
  const Recurrence &r;
  int64_t index;
  bool reversed = false;
  Expr input, recurrent, bias, recurrentBias;
};

} // namespace

/// Calls `step` for every direction and step; it updates the state, whose first
/// tensor is the output. Returns Y and the final states.
static Results runSteps(
    Node &node, const Recurrence &r, size_t states,
    llvm::function_ref<void(Direction &, int64_t, Expr, MutableArrayRef<Expr>)>
        step) {
  bool reverse = node.string("direction", "forward") == "reverse";
  SmallVector<Value> shown;
  SmallVector<SmallVector<Value>> last(states);
  for (int64_t d = 0; d < r.directions; ++d) {
    Direction direction(node, r, d);
    direction.reversed = reverse || d == 1;
    SmallVector<Expr> state;
    for (size_t i = 0; i < states; ++i)
      state.push_back(direction.initial(5 + i));
    SmallVector<Value> steps(r.steps);
    for (int64_t i = 0; i < r.steps; ++i) {
      int64_t at = direction.stepAt(i);
      SmallVector<Expr> before = state;
      step(direction, at, row(direction.input, at), state);
      for (size_t s = 0; s < states; ++s)
        state[s] = direction.unlessEnded(at, state[s], before[s]);
      steps[at] =
          direction.shown(at, state[0]).reshape({1, 1, r.batch, r.hidden});
    }
    shown.push_back(r.steps ? node.concat(steps, 0)
                            : node.expand(node.scalar(state[0], 0),
                                          {0, 1, r.batch, r.hidden}));
    for (size_t s = 0; s < states; ++s)
      last[s].push_back(state[s].reshape({1, r.batch, r.hidden}));
  }
  auto join = [&](ArrayRef<Value> parts, int64_t axis) -> Expr {
    return {node, parts.size() == 1 ? parts[0] : node.concat(parts, axis)};
  };
  Expr y = join(shown, 1);
  Results results = {r.batchFirst ? y.transpose({2, 0, 1, 3}) : y};
  for (auto &parts : last) {
    Expr end = join(parts, 0);
    results.push_back(r.batchFirst ? end.transpose({1, 0, 2}) : end);
  }
  return results;
}

static Results rnn(Node &node) {
  auto r = read(node, 1, {"Tanh"});
  if (!r)
    return {};
  return runSteps(
      node, *r, 1, [](Direction &d, int64_t, Expr x, MutableArrayRef<Expr> s) {
        Expr sum = x + project(s[0], d.recurrent) + d.bias + d.recurrentBias;
        s[0] = d.activation(sum, 0);
      });
}

static Results gru(Node &node) {
  auto r = read(node, 3, {"Sigmoid", "Tanh"});
  bool resetsLater = node.integer("linear_before_reset", 0);
  if (!r)
    return {};
  return runSteps(
      node, *r, 1, [&](Direction &d, int64_t, Expr x, MutableArrayRef<Expr> s) {
        int64_t h = d.r.hidden;
        Expr in = x + d.bias, weights = d.recurrent;
        auto recurrent = [&](Expr state, int64_t i) {
          return project(state, weights.slice(0, i * h, h)) +
                 d.recurrentBias.slice(0, i * h, h);
        };
        Expr update = d.activation(d.gate(in, 0) + recurrent(s[0], 0), 0);
        Expr reset = d.activation(d.gate(in, 1) + recurrent(s[0], 1), 0);
        Expr kept = resetsLater ? reset * recurrent(s[0], 2)
                                : recurrent(reset * s[0], 2);
        Expr next = d.activation(d.gate(in, 2) + kept, 1);
        s[0] = (1.0 - update) * next + update * s[0];
      });
}

/// Imports LSTM. Gates are input, output, forget and cell; the first three have
/// peepholes to the cell.
static Results lstm(Node &node) {
  auto r = read(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  bool coupled = node.integer("input_forget", 0);
  if (!r)
    return {};
  return runSteps(
      node, *r, 2, [&](Direction &d, int64_t, Expr x, MutableArrayRef<Expr> s) {
        int64_t h = d.r.hidden;
        Expr all = x + project(s[0], d.recurrent) + d.bias + d.recurrentBias;
        auto peek = [&](Expr gate, Expr cell, int64_t i) {
          if (!d.node.has(7))
            return gate;
          Expr peepholes = row({d.node, d.node.input(7)}, d.index);
          return gate + cell * peepholes.slice(0, i * h, h);
        };
        Expr in = d.activation(peek(d.gate(all, 0), s[1], 0), 0);
        Expr forget =
            coupled ? 1.0 - in : d.activation(peek(d.gate(all, 2), s[1], 2), 0);
        Expr cell = d.activation(d.gate(all, 3), 1);
        Expr next = forget * s[1] + in * cell;
        Expr out = d.activation(peek(d.gate(all, 1), next, 1), 0);
        s[0] = out * d.activation(next, 2);
        s[1] = next;
      });
}

/// Dequantizes input `i`, weights of 8 bits, directions×inputs×(gates·hidden),
/// for an LSTM. Their scale and zero point, one per direction or column, are
/// the inputs from `scale` on.
static void dequantizeWeights(Node &node, size_t i, size_t scale) {
  Type f32 = node.builder().getF32Type();
  Expr weights = input(node, i).to(f32);
  auto perColumn = [&](size_t of) {
    Expr x = input(node, of).to(f32);
    if (x && weights && x.rank() <= 2 && weights.rank() == 3)
      return x.reshape({weights.size(0), 1, x.rank() == 2 ? x.size(1) : 1});
    if (!node.failed)
      node.error() << "input " << of << " needs a number for each direction, "
                   << "or for each column of the weights";
    return Expr(node, {});
  };
  Expr zero = perColumn(scale + 1), factor = perColumn(scale);
  node.setInput(i, ((weights - zero) * factor).transpose({0, 2, 1}));
}

/// Imports an LSTM with weights of 8 bits. ONNX Runtime rounds the other
/// operands of their products to 8 bits, too.
static Results dynamicQuantizeLstm(Node &node) {
  dequantizeWeights(node, 1, 8);
  dequantizeWeights(node, 2, 10);
  return node.failed ? Results() : lstm(node);
}

ArrayRef<Hook> frit::importer::recurrentHooks() {
  static constexpr Hook hooks[] = {
      {"RNN", 7, 3, 6, rnn},
      {"GRU", 7, 3, 6, gru},
      {"LSTM", 7, 3, 8, lstm},
      {"com.microsoft::DynamicQuantizeLSTM", 1, 12, 12, dynamicQuantizeLstm},
  };
  return hooks;
}
