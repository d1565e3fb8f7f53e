//===- Padding.cpp - Whether a model may run on padded inputs -------------===//
//
// A model that is compiled for a batch of 4 may be run on 3 images and one of
// zeros if the results for the 3 are then what they would be without the
// fourth. That is proved by comparing the two models as they are imported,
// operator by operator:
//
//   3:  %y = nn.softmax %x {axis = 1} : tensor<3x8xf32>
//   4:  %y = nn.softmax %x {axis = 1} : tensor<4x8xf32>
//
// If the operands of the small model's operator are the leading elements (in
// every dimension) of those of the large one's, so are its results: the claim,
// by induction over the model. On the way a dimension may be folded into
// another, and its elements be at other places (PaddedPlaces.h); in the model's
// outputs they lead again. What an operator does is read from its own
// definition (PaddedOperator.cpp): no operator has a rule of its own, except
// for views and cuts. What combines elements along the dimension is proved if
// the others change nothing (PaddedContent.cpp), masked where they would
// (PaddingMasks.cpp). What computes with the size (a constant that was folded
// from it) differs between the models and is found.
//
// This is translation validation (Pnueli, Siegel and Singerman, TACAS 1998) of
// one import against another; like there, what cannot be shown counts as wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Padding.h"

#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static Block &bodyOf(ModuleOp module) {
  return mainOf(module).getBody().front();
}

/// Replaces a composite by what it means and returns what comes then.
static Block::iterator expand(CompositeOp op) {
  Block *block = op->getBlock();
  Operation *before = op->getPrevNode();
  NNBuilder builder(op.getLoc(), op.getOperation());
  op->replaceAllUsesWith(op.decompose(builder));
  op->erase();
  return before ? std::next(before->getIterator()) : block->begin();
}

/// A composite and all in it taken apart, in a function of its own.
static OwningOpRef<func::FuncOp> isolate(Operation *op) {
  OpBuilder types(op->getContext());
  auto function =
      func::FuncOp::create(op->getLoc(), "composite",
                           types.getFunctionType(op->getOperandTypes(), {}));
  Block *entry = function.addEntryBlock();
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  IRMapping map;
  for (auto [operand, argument] :
       llvm::zip_equal(op->getOperands(), entry->getArguments()))
    if (!map.contains(operand))
      map.map(operand, argument);
  Operation *copy = b.clone(*op, map);
  func::ReturnOp::create(b, op->getLoc(), copy->getResults());
  for (auto at = entry->begin(); at != entry->end();) {
    auto composite = dyn_cast<CompositeOp>(*at);
    at = composite ? expand(composite) : std::next(at);
  }
  return function;
}

/// Whether a value has no elements.
static bool isNothing(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getNumElements() == 0;
}

/// Whether two operators are of one kind and read the same values.
static bool arePaired(Operation *small, Operation *large,
                      ArrayRef<PaddedValue> operands) {
  return small->getName() == large->getName() &&
         small->getNumResults() == large->getNumResults() &&
         operands.size() == large->getNumOperands() &&
         llvm::all_of(llvm::zip_equal(operands, large->getOperands()),
                      [](auto pair) {
                        return std::get<0>(pair).large == std::get<1>(pair);
                      });
}

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

/// What the comparison of two operators depends on.
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

/// Constants are looked through once.
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

std::optional<PaddedValue>
PaddingProof::padComposite(Operation *small, Operation *large,
                           ArrayRef<PaddedValue> operands) {
  OwningOpRef<func::FuncOp> a = isolate(small), b = isolate(large);
  Block &from = a->getBody().front(), &to = b->getBody().front();
  DenseMap<Value, PaddedValue> known;
  for (auto [x, y, operand] :
       llvm::zip_equal(from.getArguments(), to.getArguments(), operands)) {
    known[x] = operand;
    known[x].large = y;
  }
  for (auto [x, y] : llvm::zip(from, to)) {
    auto inner = llvm::map_to_vector<3>(
        x.getOperands(), [&](Value value) { return known.lookup(value); });
    if (!arePaired(&x, &y, inner))
      return std::nullopt;
    if (x.hasTrait<OpTrait::IsTerminator>())
      return inner.front();
    std::optional<PaddedValue> result = pad(&x, &y, inner);
    if (!result)
      return std::nullopt;
    known[x.getResult(0)] = *result;
  }
  return std::nullopt;
}

std::optional<PaddedValue> PaddingProof::pad(Operation *small, Operation *large,
                                             ArrayRef<PaddedValue> operands) {
  // What has no elements is part of everything.
  if (isNothing(small->getResult(0)))
    return leadingValue(small->getResult(0), large->getResult(0));
  // The text of constants is as long as they are.
  if (auto constant = dyn_cast<ConstantOp>(small))
    return padConstant(constant, cast<ConstantOp>(large));
  auto [it, isNew] = verdicts.try_emplace(textOf(small, large, operands));
  // Entries stay where they are when those of a composite's inside are added.
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

static StringRef reasonOf(Operation *small, Operation *large) {
  if (isa<ConstantOp>(large))
    return "depends on it by a constant";
  if (isa<ReshapeOp>(large))
    return "folds it into another dimension";
  if (llvm::any_of(small->getOperands(), isNothing))
    return "reads it where there may be none";
  return "combines or moves elements along it";
}

/// An input: the runtime fills it up with zeros.
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

/// Of a mask with -inf, along which dimensions no line is all of that.
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

/// The first elements of a value, where the large model takes all of them.
static std::optional<PaddedValue> padFirst(SliceOp small,
                                           ArrayRef<PaddedValue> operands) {
  if (!small || operands.front().anywhere ||
      !areLeading(operands.front().places) ||
      !llvm::all_of(small.getStarts(), [](int64_t at) { return at == 0; }) ||
      !llvm::all_of(small.getSteps(), [](int64_t by) { return by == 1; }))
    return std::nullopt;
  const PaddedValue &x = operands.front();
  auto result = leadingValue(small.getY(), x.large);
  if (result)
    result->content = {x.content.inside, x.content.all(), {}, {}};
  return result;
}

std::optional<Mixing> PaddingProof::findMixing(ModuleOp small,
                                               ArrayRef<int64_t> sizes) {
  masks.begin(sizes);
  Block &from = bodyOf(small), &to = bodyOf(large);
  DenseMap<Value, PaddedValue> known;
  for (auto [a, b] : llvm::zip_equal(from.getArguments(), to.getArguments())) {
    std::optional<PaddedValue> value = padInput(a, b);
    if (!value)
      return Mixing{b.getLoc(), "has another type"};
    known[a] = *value;
  }
  for (auto a = from.begin(), b = to.begin(); a != from.end();) {
    auto composite = dyn_cast<CompositeOp>(*a);
    // The large one was taken apart.
    if (composite && a->getName() != b->getName()) {
      a = expand(composite);
      continue;
    }
    auto operands = llvm::map_to_vector<3>(
        a->getOperands(), [&](Value value) { return known.lookup(value); });
    // Of a table that has no more entries than these nothing is cut.
    if (auto whole = a->getName() != b->getName()
                         ? padFirst(dyn_cast<SliceOp>(*a), operands)
                         : std::nullopt) {
      known[a->getResult(0)] = *whole;
      ++a;
      continue;
    }
    // Shape arithmetic may have decided for other operators.
    if (!arePaired(&*a, &*b, operands))
      return Mixing{b->getLoc(), "becomes other operators"};
    if (a->hasTrait<OpTrait::IsTerminator>()) {
      for (const PaddedValue &result : operands)
        if (!result.anywhere && !areLeading(result.places))
          return Mixing{result.large.getLoc(),
                        "returns it folded into another dimension"};
      return std::nullopt;
    }
    auto padWith = [&](const PaddingMasks::Operands &masked) {
      return pad(&*a, &*b, masked);
    };
    std::optional<PaddedValue> result =
        masks.pad(&*b, PaddingMasks::Operands(operands), padWith);
    if (!result && isa<ConstantOp>(*a))
      result = masks.padSize(cast<ConstantOp>(*a), cast<ConstantOp>(*b));
    if (!result && composite) {
      masks.forget(&*b);
      a = expand(composite);
      b = expand(cast<CompositeOp>(*b));
      continue;
    }
    if (!result)
      return Mixing{b->getLoc(), reasonOf(&*a, &*b).str()};
    findLines(*result, a->getResult(0), *b);
    known[a->getResult(0)] = *result;
    ++a, ++b;
  }
  llvm_unreachable("a function returns");
}

std::optional<Mixing> PaddingProof::findMisfit() const {
  if (Operation *op = masks.findMisfit())
    return Mixing{op->getLoc(), "needs a size that those of the inputs do not "
                                "tell"};
  return std::nullopt;
}
