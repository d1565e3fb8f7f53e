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
// for views and cuts, and what computes with a size (a mean along it, a
// constant that was folded from it) differs between the models and is found.
//
// This is translation validation (Pnueli, Siegel and Singerman, TACAS 1998) of
// one import against another; like there, what cannot be shown counts as wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Padding.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static void decomposeAll(ModuleOp module) {
  SmallVector<CompositeOp> composites;
  do {
    composites.clear();
    module.walk([&](CompositeOp op) { composites.push_back(op); });
    for (CompositeOp op : composites) {
      NNBuilder builder(op.getLoc(), op.getOperation());
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  } while (!composites.empty());
}

static Block &bodyOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main").getBody().front();
}

PaddingProof::PaddingProof(ModuleOp large) : large(large.clone()) {
  decomposeAll(*this->large);
}

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
    os << (operand.anywhere ? "*" : placesText(operand.places)) << ";";
  return text;
}

std::optional<PaddedValue> PaddingProof::pad(Operation *small, Operation *large,
                                             ArrayRef<PaddedValue> operands) {
  // The text of constants is as long as they are.
  if (isa<ConstantOp>(small))
    return padOperator(small, large, operands);
  auto [it, isNew] = verdicts.try_emplace(textOf(small, large, operands));
  if (isNew)
    it->second = padOperator(small, large, operands);
  std::optional<PaddedValue> result = it->second;
  if (result)
    result->large = large->getResult(0);
  return result;
}

static StringRef reasonOf(Operation *op) {
  if (isa<ConstantOp>(op))
    return "depends on it by a constant";
  if (isa<ReshapeOp>(op))
    return "folds it into another dimension";
  return "combines or moves elements along it";
}

std::optional<Mixing> PaddingProof::findMixing(ModuleOp small) {
  decomposeAll(small);
  Block &from = bodyOf(small), &to = bodyOf(*large);
  DenseMap<Value, PaddedValue> known;
  for (auto [a, b] : llvm::zip(from.getArguments(), to.getArguments())) {
    std::optional<PaddedValue> value = leadingValue(a, b);
    if (!value)
      return Mixing{b.getLoc(), "has another type"};
    known[a] = *value;
  }
  for (auto [a, b] : llvm::zip(from, to)) {
    SmallVector<PaddedValue> operands;
    for (Value operand : a.getOperands())
      operands.push_back(known.lookup(operand));
    // Shape arithmetic may have decided for other operators.
    if (a.getName() != b.getName() ||
        a.getNumOperands() != b.getNumOperands() ||
        a.getNumResults() != b.getNumResults() ||
        !llvm::all_of(llvm::zip(operands, b.getOperands()), [](auto pair) {
          return std::get<0>(pair).large == std::get<1>(pair);
        }))
      return Mixing{b.getLoc(), "becomes other operators"};
    if (a.hasTrait<OpTrait::IsTerminator>()) {
      for (const PaddedValue &result : operands)
        if (!result.anywhere && !areLeading(result.places))
          return Mixing{result.large.getLoc(),
                        "returns it folded into another dimension"};
      return std::nullopt;
    }
    // What has no elements is part of everything.
    auto isNothing = [](Value v) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      return type && type.getNumElements() == 0;
    };
    std::optional<PaddedValue> result;
    if (isNothing(a.getResult(0)))
      result = leadingValue(a.getResult(0), b.getResult(0));
    else if (llvm::any_of(a.getOperands(), isNothing))
      return Mixing{b.getLoc(), "reads it where there may be none"};
    else
      result = pad(&a, &b, operands);
    if (!result)
      return Mixing{b.getLoc(), reasonOf(&b).str()};
    known[a.getResult(0)] = *result;
  }
  return std::nullopt;
}
