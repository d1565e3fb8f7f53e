//===- Positions.cpp - Rows of a table of positions -----------------------===//
//
// Exporters compute positions by sizes of caches, which frit keeps fixed:
//
//   past = Gather(Shape(past_key_values.0.key), 2)
//   rows = Gather(embed_positions.weight, Range(past, past + sequence))
//   angles = MatMul(frequencies, Cast(Unsqueeze(Range(past, past + sequence))))
//   rows = (CumSum(tokens != padding) + past) * (tokens != padding) + padding
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/Positions.h"

#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/constants/ConstantValues.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// The most rows of a table before that of the first position: BART has two.
static constexpr int64_t kMostBefore = 8;

/// Returns whether a value is a matrix of weights.
static bool isTable(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getNameAttr() && rankOf(value) == 2 &&
         isa<FloatType>(elementOf(value));
}

/// Returns how many rows the first position has before it; none if `first` is
/// not the row of a token after the caches' entries.
static std::optional<int64_t> rowsBefore(Node &node, int64_t first) {
  const auto &call = node.import().positions;
  int64_t before = call ? first - call->past : -1;
  return before >= 0 && before <= kMostBefore ? std::optional(before)
                                              : std::nullopt;
}

/// Returns the rows of the call's tokens, batch × tokens.
static Expr rowsOfTokens(Node &node, int64_t before) {
  ImportState &state = node.import();
  if (!state.positionInput)
    state.positionInput = state.addComputed(
        kCachePositions.str(),
        RankedTensorType::get({state.positions->batch, state.positions->tokens},
                              node.builder().getI64Type()),
        ArrayAttr(), node.loc);
  Expr rows = {node, state.positionInput};
  return before ? rows + double(before) : rows;
}

Value importer::positionsFor(Node &node, Value table, Value indices) {
  const auto &call = node.import().positions;
  auto type = nn::tensorType(indices);
  if (!call || !isTable(table) || !isa<IntegerType>(type.getElementType()) ||
      type.getRank() == 0 || type.getShape().back() != call->tokens)
    return {};
  int64_t count = type.getNumElements();
  if (count != call->tokens && count != call->batch * call->tokens)
    return {};
  auto constant = indices.getDefiningOp<nn::ConstantOp>();
  if (constant && constant.getNameAttr())
    return {};
  auto known = nn::evaluateConstant(indices);
  if (!known || known->readsWeights)
    return {};
  auto elements = nn::readElements(known->elements, type.getShape());
  auto before = rowsBefore(node, int64_t(*elements.begin()));
  if (!before)
    return {};
  for (auto [i, row] : llvm::enumerate(elements))
    if (int64_t(row) != call->past + *before + int64_t(i) % call->tokens)
      return {};
  Expr rows = rowsOfTokens(node, *before);
  return call->batch == 1 ? rows.reshape(type.getShape()) : rows;
}

Value importer::rowsOfPositions(Node &node, Value table,
                                ArrayRef<int64_t> starts,
                                ArrayRef<int64_t> ends) {
  const auto &call = node.import().positions;
  if (!call || !isTable(table) || starts.size() != 1 || ends.size() != 1 ||
      ends[0] - starts[0] != call->tokens)
    return {};
  auto before = rowsBefore(node, starts[0]);
  if (!before)
    return {};
  Expr rows = rowsOfTokens(node, *before);
  if (call->batch == 1)
    rows = rows.reshape(call->tokens);
  if (!node.checkIndices(rows, sizes(table)[0]))
    return {};
  return Expr(node, table).gather(rows, 0);
}

/// Returns the axis along which a value that sizes alone decide lists the
/// positions of the call's tokens, which follow the caches' entries.
static std::optional<int64_t> axisOfPositions(Node &node, Value x) {
  const auto &call = node.import().positions;
  auto type = nn::tensorType(x);
  int64_t count = type.getNumElements();
  if (!type.getRank() ||
      (count != call->tokens && count != call->batch * call->tokens))
    return std::nullopt;
  auto constant = x.getDefiningOp<nn::ConstantOp>();
  auto known = constant && constant.getNameAttr() ? std::nullopt
                                                  : nn::evaluateConstant(x);
  if (!known || known->readsWeights)
    return std::nullopt;
  int64_t axis = type.getRank() - 1;
  while (axis > 0 && type.getDimSize(axis) == 1)
    --axis;
  if (call->tokens == 1 || type.getDimSize(axis) != call->tokens)
    axis = type.getRank() - 1;
  auto elements = nn::readElements(known->elements, type.getShape());
  for (auto [i, position] : llvm::enumerate(elements))
    if (position != float(call->past + int64_t(i) % call->tokens))
      return std::nullopt;
  return axis;
}

void importer::multiplyPositions(Node &node) {
  const auto &call = node.import().positions;
  if (!call || node.inputs().size() != 2 || !node.has(0) || !node.has(1))
    return;
  for (size_t i : {0, 1}) {
    Value x = node.input(i), other = node.input(1 - i);
    if (!x || !other || !isa<FloatType>(elementOf(x)) ||
        nn::tensorType(other).getNumElements() < 2 || !nn::mayEvaluate(other))
      continue;
    auto axis = axisOfPositions(node, x);
    SmallVector<int64_t> shape = sizes(x);
    // Sequences beside one another have positions of their own.
    if (!axis || (call->batch > 1 && (*axis == 0 || shape[0] > call->batch)))
      continue;
    if (call->batch > 1)
      shape[0] = call->batch;
    node.setInput(i, rowsOfTokens(node, 0).to(elementOf(x)).reshape(shape));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Positions that count tokens
//===----------------------------------------------------------------------===//

/// Most operators between a sum of tokens and the rows that it chooses.
static constexpr int kMostSteps = 16;

/// Returns whether a value is made of a prefix sum by few operators.
static bool sumsUp(Value value, int steps = kMostSteps) {
  Operation *def = value.getDefiningOp();
  if (!def || !steps)
    return false;
  if (isa<nn::CumSumOp>(def))
    return true;
  return isa<nn::AddOp, nn::CastOp, nn::ReshapeOp, nn::SliceOp, nn::ExpandOp>(
             def) &&
         llvm::any_of(def->getOperands(), [&](Value operand) {
           return sumsUp(operand, steps - 1);
         });
}

/// Returns the only number of a value that sizes alone decide.
static std::optional<int64_t> numberOf(Value value) {
  auto type = nn::tensorType(value);
  if (!isa<IntegerType>(type.getElementType()) || type.getNumElements() != 1)
    return std::nullopt;
  auto known = nn::evaluateConstant(value);
  if (!known || known->readsWeights)
    return std::nullopt;
  return int64_t(*nn::readElements(known->elements, type.getShape()).begin());
}

void importer::addPositions(Node &node) {
  const auto &call = node.import().positions;
  if (!call || node.inputs().size() != 2)
    return;
  for (size_t i : {0, 1}) {
    Value past = node.input(i), counts = node.input(1 - i);
    if (!past || !counts || !isa<IntegerType>(elementOf(counts)) ||
        sizes(counts) != SmallVector<int64_t>{call->batch, call->tokens} ||
        numberOf(past) != call->past || !sumsUp(counts))
      continue;
    node.setInput(i, rowsOfTokens(node, 0).slice(1, 0, 1).to(elementOf(past)));
    return;
  }
}

/// Returns how far the row of a call's first token is from its position, if
/// `rows` count tokens from that on.
static std::optional<int64_t> rowOfFirst(Value rows, Value position,
                                         int steps = kMostSteps) {
  Operation *def = rows.getDefiningOp();
  if (!def || !steps)
    return std::nullopt;
  if (isa<nn::CastOp, nn::ReshapeOp, nn::SliceOp, nn::ExpandOp>(def)) {
    Value from = def->getOperand(0);
    return from == position ? std::optional<int64_t>(0)
                            : rowOfFirst(from, position, steps - 1);
  }
  if (!isa<nn::AddOp, nn::MulOp>(def))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Value other = def->getOperand(1 - i);
    auto first = rowOfFirst(def->getOperand(i), position, steps - 1);
    if (!first)
      continue;
    if (isa<nn::MulOp>(def))
      return first;
    // The first token is counted, too.
    auto number = sumsUp(other) ? std::optional<int64_t>(1) : numberOf(other);
    return number ? std::optional(*first + *number) : std::nullopt;
  }
  return std::nullopt;
}

void importer::limitPositions(Node &node, Value table, Value rows) {
  ImportState &state = node.import();
  if (!state.positionInput || !isTable(table))
    return;
  auto first = rowOfFirst(rows, state.positionInput);
  if (!first)
    return;
  int64_t count = sizes(table)[0];
  node.checkNumbers(state.positionInput, 0, count - 1 - *first,
                    "has rows for " + Twine(count - *first) + " positions");
}
