//===- Recurrent.cpp - LSTM, GRU and RNN ----------------------------------===//
//
// A direction is one nn.scan over the products with the inputs, which are one
// product for all steps. Hochreiter and Schmidhuber, "Long
// Short-Term Memory", 1997; Cho et al., arXiv:1406.1078.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Activations.h"
#include "compiler/onnx/ops/Quantization.h"
#include "compiler/onnx/reader/Hooks.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// Parameters common to LSTM, GRU and RNN.
struct Recurrence {
  int64_t gates, directions, hidden, steps, batch;
  bool batchFirst;
  double clip = 0;
  SmallVector<Activation> activations; ///< per direction
  Expr x;                              ///< steps×batch×inputs
  Value lengths;
  /// Weights of inputs and state as bytes, directions×inputs×(gates·hidden), if
  /// they are quantized.
  SmallVector<Value, 2> bytes;
};

} // namespace

static std::optional<Recurrence> read(Node &node, int64_t gates,
                                      ArrayRef<StringRef> defaults) {
  Recurrence r{gates, 1, 0, 0, 0, false, 0, {}, input(node, 0), {}, {}};
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
    input = r.bytes.empty() ? project(r.x, w) : multiplyBytes(r.x, 0);
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
  /// Returns the product of the state and its weights.
  Expr projectState(Expr state) {
    return r.bytes.empty() ? project(state, recurrent)
                           : multiplyBytes(state, 1);
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
  /// Keeps the state of sequences that have ended. `step` is an i64 scalar.
  Expr unlessEnded(Expr step, Expr next, Expr before) {
    if (!r.lengths)
      return next;
    Expr length = Expr{node, r.lengths}.reshape({r.batch, 1});
    return (length > step.to(length.element())).select(next, before);
  }
  /// Sets the outputs of sequences that have ended to zero.
  Expr shown(Expr ys) {
    if (!r.lengths || !ys)
      return ys;
    Expr length = Expr{node, r.lengths}.reshape({1, r.batch, 1});
    Expr step = iota(node, length.element(), {r.steps, 1, 1}, 0);
    return (length > step).select(ys, ys.number(0));
  }

  /// Quantizes x and multiplies it by the bytes of the weights of inputs (0) or
  /// state (1).
  Expr multiplyBytes(Expr x, size_t which) {
    size_t scaleInput = which ? 10 : 8;
    Expr weights = row({node, r.bytes[which]}, index);
    Expr scale = row(importer::input(node, scaleInput), index);
    Expr zero = row(importer::input(node, scaleInput + 1), index);
    auto [value, xScale, xZero] = quantizeDynamically(x);
    Expr sums = subtractZero(value, xZero, /*byRow=*/false)
                    .matmul(subtractZero(weights, zero, /*byRow=*/false));
    return sums.to(x.element()) * (xScale * scale.to(x.element()));
  }

  Node &node;
  const Recurrence &r;
  int64_t index;
  Expr input, recurrent, bias, recurrentBias;
};

} // namespace

/// Updates the state, whose first tensor is the output, by a row of the
/// products with the inputs.
using Step = llvm::function_ref<void(Direction &direction, Expr row,
                                     MutableArrayRef<Expr> state)>;

/// Fills the block of a scan.
static void buildStep(nn::ScanOp scan, Direction &direction, Step step) {
  Node &node = direction.node;
  OpBuilder::InsertionGuard guard(node.builder());
  Block *block = node.builder().createBlock(&scan.getBody());
  SmallVector<Type> types = {
      scan.getCount().getType(),
      nn::tensorType(scan.getXs())
          .clone(nn::shapeOf(scan.getXs()).drop_front())};
  llvm::append_range(types, scan.getInitial().getTypes());
  block->addArguments(types, SmallVector<Location>(types.size(), node.loc));
  SmallVector<Expr> state;
  for (Value argument : block->getArguments().drop_front(2))
    state.push_back({node, argument});
  SmallVector<Expr> before = state;
  step(direction, {node, block->getArgument(1)}, state);
  SmallVector<Value> next;
  for (auto [after, old] : llvm::zip_equal(state, before))
    next.push_back(
        direction.unlessEnded({node, block->getArgument(0)}, after, old));
  // The block is copied for each step.
  if (node.failed ||
      !node.mayBecome(direction.r.steps * block->getOperations().size()))
    next.assign(before.begin(), before.end());
  nn::YieldOp::create(node.builder(), node.loc, next);
}

/// Builds the scan of a direction. Returns its outputs, steps×batch×hidden, and
/// the last states; nothing after an error.
static Results scanSteps(Direction &direction, size_t states, bool isReversed,
                         Step step) {
  Node &node = direction.node;
  SmallVector<Value> initial;
  for (size_t i = 0; i < states; ++i)
    initial.push_back(direction.initial(5 + i));
  DataShape shape = node.dataShape(direction.input);
  if (node.failed || llvm::is_contained(initial, Value()))
    return {};
  const Recurrence &r = direction.r;
  if (r.steps == 0) {
    Results results = {
        node.expand(node.scalar(initial.front(), 0), {0, r.batch, r.hidden})};
    llvm::append_range(results, initial);
    return results;
  }
  // The length may depend on the data.
  Size steps = std::exchange(shape.front(), 0);
  if (!isStatic(shape) || llvm::any_of(initial, isMarked)) {
    node.error() << "reads a batch whose size depends on the data";
    return {};
  }
  Value count = steps.isKnown()
                    ? node.scalar(node.builder().getI64Type(), steps.constant)
                    : node.dataSizes().valueOf(node, steps);
  if (!count)
    return {};
  SmallVector<int64_t> all = {r.steps};
  llvm::append_range(all, sizes(initial.front()));
  auto scan = nn::ScanOp::create(
      node.builder(), node.loc, nn::tensorType(initial.front()).clone(all),
      TypeRange(ValueRange(initial)), count, unmarked(direction.input), initial,
      isReversed);
  buildStep(scan, direction, step);
  Results results = {direction.shown({node, scan.getYs()})};
  llvm::append_range(results, scan.getLast());
  if (!steps.isKnown())
    results.front() = node.markedAlong(results.front(), 0, steps);
  return results;
}

/// Scans every direction. Returns Y and the final states.
static Results runSteps(Node &node, const Recurrence &r, size_t states,
                        Step step) {
  bool reverse = node.string("direction", "forward") == "reverse";
  SmallVector<Value> shown;
  SmallVector<SmallVector<Value>> last(states);
  for (int64_t d = 0; d < r.directions; ++d) {
    Direction direction(node, r, d);
    Results results = scanSteps(direction, states, reverse || d == 1, step);
    if (node.failed || results.empty() || !results.front())
      return {};
    shown.push_back(
        node.reshape(results.front(), {r.steps, 1, r.batch, r.hidden}));
    for (size_t s = 0; s < states; ++s)
      last[s].push_back(node.reshape(results[1 + s], {1, r.batch, r.hidden}));
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
      node, *r, 1, [](Direction &d, Expr x, MutableArrayRef<Expr> s) {
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
      node, *r, 1, [&](Direction &d, Expr x, MutableArrayRef<Expr> s) {
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

/// Builds an LSTM, whose weights may be quantized. Gates are input, output,
/// forget and cell; the first three have peepholes to the cell.
static Results lstmOf(Node &node, ArrayRef<Value> bytes) {
  auto r = read(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  bool coupled = node.integer("input_forget", 0);
  if (!r)
    return {};
  r->bytes.assign(bytes.begin(), bytes.end());
  return runSteps(
      node, *r, 2, [&](Direction &d, Expr x, MutableArrayRef<Expr> s) {
        int64_t h = d.r.hidden;
        Expr all = x + d.projectState(s[0]) + d.bias + d.recurrentBias;
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

static Results lstm(Node &node) { return lstmOf(node, {}); }

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

/// Imports an LSTM with weights of 8 bits. The other operands of their products
/// are rounded to 8 bits, too.
static Results dynamicQuantizeLstm(Node &node) {
  Value bytes[] = {node.input(1), node.input(2)};
  dequantizeWeights(node, 1, 8);
  dequantizeWeights(node, 2, 10);
  return node.failed ? Results() : lstmOf(node, bytes);
}

ArrayRef<Hook> frit::importer::recurrentHooks() {
  static constexpr Hook hooks[] = {
      {"RNN", 7, 3, 6, rnn, takesCounts},
      {"GRU", 7, 3, 6, gru, takesCounts},
      {"LSTM", 7, 3, 8, lstm, takesCounts},
      {"com.microsoft::DynamicQuantizeLSTM", 1, 12, 12, dynamicQuantizeLstm},
  };
  return hooks;
}
