//===- Padding.cpp - Prove that inputs may be padded ----------------------===//
//
// A model compiled for a batch of 4 may be run on 3 images and one of zeros if
// the results for the 3 do not depend on the fourth. This is proved by
// comparing the two imported models, operator by operator:
//
//   3:  %y = nn.softmax %x {axis = 1} : tensor<3x8xf32>
//   4:  %y = nn.softmax %x {axis = 1} : tensor<4x8xf32>
//
// Claim: if the operands of the small model's operator are the leading elements
// (in every dimension) of the large one's operands, so are its results. The
// proof is by induction over the model. In between, a dimension may be folded
// into another, so that its elements are at other places (PaddedPlaces.h); in
// the model's outputs they are leading again. The semantics of an operator come
// from its definition (PaddedOperator.cpp): only views and slices have rules of
// their own. An operator that combines elements along the dimension is proved
// if the additional elements are neutral (PaddedContent.cpp); otherwise they
// are masked (PaddingMasks.cpp). Constants that were folded from the size
// differ between the models and are found.
//
// This is translation validation (Pnueli, Siegel and Singerman, TACAS 1998) of
// one import against another. As there, what cannot be proved counts as wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Padding.h"
#include "compiler/padding/Expansion.h"
#include "compiler/padding/PaddedGather.h"

#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static Block &bodyOf(ModuleOp module) {
  return mainOf(module).getBody().front();
}

/// Returns whether a value has no elements.
static bool isNothing(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getNumElements() == 0;
}

/// Returns whether two operators have the same kind and numbers of operands and
/// results.
static bool areAlike(Operation *small, Operation *large) {
  return small->getName() == large->getName() &&
         small->getNumResults() == large->getNumResults() &&
         small->getNumOperands() == large->getNumOperands();
}

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

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
  if (isNothing(small->getResult(0)))
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

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Returns what an operator does that padding does not allow.
static std::string reasonOf(Operation *large) {
  if (isa<ReshapeOp>(large))
    return "joins the dimension with another";
  if (llvm::all_of(large->getOperands(),
                   [](Value x) { return x.getDefiningOp<ConstantOp>(); }))
    return "has numbers that were computed for one size, as resizing with "
           "antialiasing does";
  if (isa<PadOp>(large))
    return "puts elements after its last one";
  if (isa<SliceOp>(large))
    return "counts elements from its end";
  return "combines or moves elements along it";
}

/// As reasonOf, for a result that is not the large one's leading elements.
static std::string reasonOfResult(const PaddedValue &result) {
  Operation *op = result.large.getDefiningOp();
  if (!llvm::any_of(result.places, hasOffset))
    return "returns the dimension joined with another; an output that has it "
           "as a dimension of its own may be padded";
  return isa_and_nonnull<SliceOp>(op)
             ? reasonOf(op)
             : "returns a part of a table that begins elsewhere for each size";
}

/// Returns the value of an input, which the runtime pads with zeros.
static std::optional<PaddedValue> padInput(Value small, Value large) {
  std::optional<PaddedValue> value = leadingValue(small, large);
  Type element = tensorType(large).getElementType();
  if (!value || isSmall(element))
    return value;
  TypedAttr zero =
      Builder(element.getContext()).getZeroAttr(signlessType(element));
  value->content = PaddedContent::uniform(AbstractValue::real);
  for (auto [dim, places] : llvm::enumerate(value->places))
    if (places.front().small != places.front().large)
      value->content.setFill(dim, AbstractValue(zero));
  return value;
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

/// Finds the results of a custom kernel. Its file only says whether it keeps
/// the samples of a batch apart.
static bool padCustom(CustomOp small, CustomOp large,
                      ArrayRef<PaddedValue> operands, ValuePairs &pairs) {
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

/// Compares two operators with the masks that they need.
std::optional<PaddedValue>
PaddingProof::padMasked(Operation *small, Operation *large,
                        ArrayRef<PaddedValue> operands) {
  auto padWith = [&](const PaddingMasks::Operands &masked) {
    return pad(small, large, masked);
  };
  auto join = [&](bool isNew) {
    return isa<ConcatOp>(small)
               ? masks.join(cast<ConcatOp>(small), cast<ConcatOp>(large),
                            PaddingMasks::Operands(operands), isNew)
               : std::nullopt;
  };
  std::optional<PaddedValue> result = join(/*isNew=*/false);
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

std::optional<Mixing> PaddingProof::findMixing(ModuleOp small,
                                               ArrayRef<int64_t> sizes) {
  masks.begin(sizes);
  Block &from = bodyOf(small), &to = bodyOf(large);
  auto compare = [&](Operation *a, Operation *b,
                     ArrayRef<PaddedValue> operands) {
    return padMasked(a, b, operands);
  };
  ValuePairs pairs(compare, evaluated);
  for (auto [a, b] : llvm::zip_equal(from.getArguments(), to.getArguments())) {
    std::optional<PaddedValue> value = padInput(a, b);
    if (!value)
      return Mixing{b.getLoc(), "has another type"};
    pairs.set(a, *value);
  }
  auto skipCompared = [&](Block::iterator &at) {
    while (pairs.isCompared(&*at))
      ++at;
  };
  for (auto a = from.begin(), b = to.begin();;) {
    skipCompared(a);
    skipCompared(b);
    // The large model's operator was expanded.
    if (isPartOf(&*b, &*a)) {
      a = expand(&*a);
      continue;
    }
    // The large model needs no slice of a table with exactly this many entries.
    if (a->getName() != b->getName() && pairs.skipSlice(&*a)) {
      ++a;
      continue;
    }
    if (Operation *list = listAlike(&*a, &*b))
      a = list->getIterator();
    // Shape arithmetic may have led to other operators.
    if (!areAlike(&*a, &*b))
      return Mixing{b->getLoc(), "computes something else for other sizes"};
    auto isPick = [&](auto small) {
      return small && padPicks(small, cast<decltype(small)>(*b), pairs);
    };
    if (isPick(dyn_cast<GatherOp>(*a)) ||
        isPick(dyn_cast<GatherElementsOp>(*a))) {
      ++a, ++b;
      continue;
    }
    SmallVector<PaddedValue, 3> operands;
    for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands())) {
      if (auto operand = pairs.find(x, y))
        operands.push_back(*operand);
      else if (Operation *failed = pairs.failed())
        return Mixing{failed->getLoc(), reasonOf(failed)};
      else
        return Mixing{b->getLoc(), "computes something else for other sizes"};
    }
    if (a->hasTrait<OpTrait::IsTerminator>()) {
      for (auto [i, result] : llvm::enumerate(operands))
        if (!result.anywhere && !areLeading(result.places) &&
            !moveResult(&*a, &*b, i, result))
          return Mixing{result.large.getLoc(), reasonOfResult(result)};
      return std::nullopt;
    }
    if (auto custom = dyn_cast<CustomOp>(*a)) {
      if (!padCustom(custom, cast<CustomOp>(*b), operands, pairs))
        return Mixing{b->getLoc(),
                      "is a user's kernel, which may combine elements along it "
                      "(\"batched\" in its file says that it does not)"};
      ++a, ++b;
      continue;
    }
    if (auto scan = dyn_cast<ScanOp>(*a)) {
      if (!padScan(scan, cast<ScanOp>(*b), operands, pairs))
        return Mixing{b->getLoc(), reasonOf(&*b)};
      ++a, ++b;
      continue;
    }
    std::optional<PaddedValue> result;
    if (auto gather = dyn_cast<GatherOp>(*a))
      result = padComputed(gather, cast<GatherOp>(*b), operands);
    if (!result)
      result = padMasked(&*a, &*b, operands);
    if (!result && isExpandable(&*a)) {
      masks.forget(&*b);
      lines.erase(&*b);
      a = expand(&*a);
      b = expand(&*b);
      continue;
    }
    if (!result)
      return Mixing{b->getLoc(), llvm::any_of(a->getOperands(), isNothing)
                                     ? "reads it where there may be none"
                                     : reasonOf(&*b)};
    pairs.set(a->getResult(0), *result);
    ++a, ++b;
  }
}

std::optional<Mixing> PaddingProof::findMisfit() const {
  if (Operation *op = masks.findMisfit())
    return Mixing{op->getLoc(), "needs a size that those of the inputs do not "
                                "tell"};
  return std::nullopt;
}
