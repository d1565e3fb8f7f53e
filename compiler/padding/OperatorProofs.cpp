//===- OperatorProofs.cpp - Compare one operator of two models ------------===//
//
// Operators with blocks of their own, scans and those that are defined by
// others, are compared by what is in these. Equal pairs are compared once.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Expansion.h"
#include "compiler/padding/Padding.h"

#include "compiler/transform/recognize/MaskValue.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns a key of everything that the comparison of two operators depends on.
static std::string textOf(Operation *small, Operation *large,
                          ArrayRef<PaddedValue> operands) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Operation *op : {small, large}) {
    os << op->getName() << op->getAttrDictionary();
    for (Type type : op->getOperandTypes())
      os << type << ",";
    for (Type type : op->getResultTypes())
      os << "->" << type;
  }
  for (const PaddedValue &operand : operands)
    os << (operand.anywhere ? "*" : placesText(operand.places))
       << operand.content.text() << ";";
  return text;
}

/// Scans the elements of each constant only once.
std::optional<PaddedValue> PaddingProof::padConstant(ConstantOp small,
                                                     ConstantOp large) {
  std::optional<PaddedValue> result = frit::padConstant(
      small.getY(), small.getValue(), large.getY(), large.getValue());
  if (!result || result->content.inside.kind == AbstractValue::constant)
    return result;
  auto [it, isNew] = constants.try_emplace(large.getValue());
  if (isNew)
    it->second = numbersOf(large.getValue());
  result->content = {it->second, it->second, {}, {}};
  return result;
}

/// Compares two blocks, operator by operator. `known` has what their arguments
/// are, and gets what the results are; `find` pairs values from outside.
/// Returns what the terminators read.
std::optional<SmallVector<PaddedValue, 3>> PaddingProof::padBlocks(
    Block &small, Block &large, DenseMap<Value, PaddedValue> &known,
    llvm::function_ref<std::optional<PaddedValue>(Value, Value)> find) {
  for (auto [x, y] : llvm::zip(small, large)) {
    if (!areAlike(&x, &y))
      return std::nullopt;
    SmallVector<PaddedValue, 3> operands;
    for (auto [a, b] : llvm::zip_equal(x.getOperands(), y.getOperands())) {
      auto own = known.find(a);
      std::optional<PaddedValue> value =
          own != known.end() ? own->second : find(a, b);
      if (!value || value->large != b)
        return std::nullopt;
      operands.push_back(*value);
    }
    if (x.hasTrait<OpTrait::IsTerminator>())
      return operands;
    std::optional<PaddedValue> result = pad(&x, &y, operands);
    if (!result)
      return std::nullopt;
    known[x.getResult(0)] = *result;
  }
  return std::nullopt;
}

std::optional<PaddedValue>
PaddingProof::padComposite(Operation *small, Operation *large,
                           ArrayRef<PaddedValue> operands) {
  OwningOpRef<func::FuncOp> a = expandAlone(small), b = expandAlone(large);
  Block &from = a->getBody().front(), &to = b->getBody().front();
  DenseMap<Value, PaddedValue> known;
  for (auto [x, y, operand] :
       llvm::zip_equal(from.getArguments(), to.getArguments(), operands)) {
    known[x] = operand;
    known[x].large = y;
  }
  auto results =
      padBlocks(from, to, known, [](Value, Value) { return std::nullopt; });
  return results ? std::optional(results->front()) : std::nullopt;
}

std::optional<PaddedValue> PaddingProof::pad(Operation *small, Operation *large,
                                             ArrayRef<PaddedValue> operands) {
  // An empty value is part of every value.
  if (isEmpty(small->getResult(0)))
    return leadingValue(small->getResult(0), large->getResult(0));
  // A key would contain the whole constant.
  if (auto constant = dyn_cast<ConstantOp>(small))
    return padConstant(constant, cast<ConstantOp>(large));
  auto [it, isNew] = verdicts.try_emplace(textOf(small, large, operands));
  // References stay valid when entries for a composite's decomposition are
  // added.
  std::optional<PaddedValue> &verdict = it->second;
  if (isNew)
    verdict = isa<CompositeOp>(small) ? padComposite(small, large, operands)
                                      : padOperator(small, large, operands);
  std::optional<PaddedValue> result = verdict;
  if (result)
    result->large = large->getResult(0);
  return result;
}

/// Finds the results of a custom kernel. Its file only says whether it keeps
/// the samples of a batch apart.
bool PaddingProof::padCustom(CustomOp small, CustomOp large,
                             ArrayRef<PaddedValue> operands,
                             ValuePairs &pairs) {
  unsigned first = small.getBatched() ? 1 : 0;
  auto isPadded = [&](Value from, Value to) {
    ArrayRef<int64_t> a = shapeOf(from), b = shapeOf(to);
    return a.size() != b.size() || (first && a.empty()) ||
           a.drop_front(first) != b.drop_front(first);
  };
  for (auto [from, to, value] :
       llvm::zip_equal(small->getOperands(), large->getOperands(), operands))
    if ((from.getType() != to.getType() && isPadded(from, to)) ||
        (!value.anywhere && !areLeading(value.places)))
      return false;
  // A workspace has no contents.
  size_t count = small->getNumResults() - small.getWorkspace();
  for (auto [from, to] :
       llvm::zip(small->getResults().take_front(count), large->getResults())) {
    auto value = leadingValue(from, to);
    if (!value || (from.getType() != to.getType() && isPadded(from, to)))
      return false;
    pairs.set(from, *value);
  }
  return true;
}

/// Compares two scans. Steps from `count` on change nothing, so a longer one
/// gives the same where `count` is the true length, which padSize sees to.
bool PaddingProof::padScan(ScanOp small, ScanOp large,
                           ArrayRef<PaddedValue> operands, ValuePairs &pairs) {
  auto leads = [](const PaddedValue &value) {
    return value.anywhere || areLeading(value.places);
  };
  if (!llvm::all_of(operands, leads) || !small.scansAllRows() ||
      !large.scansAllRows() || small.getReversed() != large.getReversed())
    return false;
  Block &from = small.getBody().front(), &to = large.getBody().front();
  DenseMap<Value, PaddedValue> known;
  for (auto [x, y] : llvm::zip_equal(from.getArguments(), to.getArguments())) {
    std::optional<PaddedValue> value = leadingValue(x, y);
    if (!value)
      return false;
    value->anywhere = x == from.getArgument(0);
    known[x] = *value;
  }
  auto next = padBlocks(from, to, known,
                        [&](Value a, Value b) { return pairs.find(a, b); });
  if (!next || !llvm::all_of(*next, leads))
    return false;
  for (auto [x, y] :
       llvm::zip_equal(small->getResults(), large->getResults())) {
    std::optional<PaddedValue> value = leadingValue(x, y);
    if (!value)
      return false;
    pairs.set(x, *value);
  }
  return true;
}

/// Finds the dimensions of a mask along which no line is all -inf.
void PaddingProof::findLines(PaddedValue &value, Value small, Operation &op) {
  PaddedContent &content = value.content;
  if (value.anywhere || content.all().sign() != AbstractValue::below ||
      !content.some.empty() || !areLeading(value.places))
    return;
  auto [it, isNew] = lines.try_emplace(&op);
  if (isNew)
    it->second = findFinite(value.large);
  for (auto [dim, first] : llvm::enumerate(it->second))
    if (first < shapeOf(small)[dim])
      content.some.push_back({unsigned(dim), AbstractValue::real});
}

/// Returns whether the columns that the large model's product has more may be
/// infinite or no numbers.
static bool hasOpenColumns(MatmulOp small, const PaddedValue &b) {
  if (b.anywhere)
    return false;
  ArrayRef<int64_t> shape = shapeOf(small.getB());
  const unsigned dim = shape.size() - (small.getTransposeB() ? 2 : 1);
  if (shape.size() < 2 || shape[dim] == shapeOf(b.large)[dim])
    return false;
  const PaddedContent::Fill *fill = b.content.fillOf(dim);
  return !(fill && fill->number.isReal()) && !b.content.outside.isReal();
}

/// Compares two operators with the masks that they need.
std::optional<PaddedValue>
PaddingProof::padMasked(Operation *small, Operation *large,
                        ArrayRef<PaddedValue> operands) {
  auto padWith = [&](const PaddingMasks::Operands &masked) {
    if (!PaddedPick::isPick(small))
      return pad(small, large, masked);
    auto result = masks.pick(small, large, masked, /*isNew=*/false);
    if (!result)
      result = pad(small, large, masked);
    return result ? result : masks.pick(small, large, masked, /*isNew=*/true);
  };
  auto join = [&](bool isNew) {
    return isa<ConcatOp>(small)
               ? masks.join(cast<ConcatOp>(small), cast<ConcatOp>(large),
                            PaddingMasks::Operands(operands), isNew)
               : std::nullopt;
  };
  std::optional<PaddedValue> result = join(/*isNew=*/false);
  // Columns of scores are selected before a softmax, but attention adds a mask,
  // which does not hide what is no number.
  if (auto product = dyn_cast<MatmulOp>(small);
      product && hasOpenColumns(product, operands[1]))
    result = masks.pad(large, PaddingMasks::Operands(operands),
                       [&](const PaddingMasks::Operands &masked) {
                         return hasOpenColumns(product, masked[1])
                                    ? std::nullopt
                                    : padWith(masked);
                       });
  if (!result && isa<ConstantOp>(large) &&
      masks.isSize(cast<ConstantOp>(large)))
    result = masks.padSize(cast<ConstantOp>(small), cast<ConstantOp>(large));
  if (!result)
    result = masks.pad(large, PaddingMasks::Operands(operands), padWith);
  if (!result)
    result = join(/*isNew=*/true);
  if (!result && isa<ConstantOp>(small))
    result = masks.padSize(cast<ConstantOp>(small), cast<ConstantOp>(large));
  if (result)
    findLines(*result, small->getResult(0), *large);
  return result;
}
