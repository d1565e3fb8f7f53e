//===- Arguments.cpp - Add arguments and results to a function ------------===//

#include "compiler/training/Arguments.h"

#include "compiler/transform/sparse/Sparsity.h"

using namespace mlir;
using namespace frit;

BlockArgument frit::insertArgument(func::FuncOp main, unsigned index, Type type,
                                   ArrayRef<NamedAttribute> attributes,
                                   Location loc) {
  (void)main.insertArgument(
      index, type, DictionaryAttr::get(main.getContext(), attributes), loc);
  return main.getArgument(index);
}

BlockArgument frit::addArgument(func::FuncOp main, Type type,
                                ArrayRef<NamedAttribute> attributes,
                                Location loc) {
  return insertArgument(main, main.getNumArguments(), type, attributes, loc);
}

/// Returns whether products or convolutions read a weight, possibly moved.
static bool isMultiplied(Value weight) {
  SmallVector<Value> work = {weight};
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      // The third operand is a bias.
      if (isa<nn::MatmulOp, nn::ConvOp, nn::DepthwiseConvOp>(user) &&
          use.getOperandNumber() < 2)
        return true;
      if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::CastOp>(user))
        work.push_back(user->getResult(0));
    }
  return false;
}

void frit::replaceByArguments(func::FuncOp main,
                              ArrayRef<nn::ConstantOp> constants,
                              StringRef kind) {
  Builder b(main.getContext());
  unsigned first = main.getNumArguments();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  for (nn::ConstantOp constant : constants) {
    types.push_back(constant.getType());
    SmallVector<NamedAttribute> own = {
        b.getNamedAttr(kind, constant.getNameAttr()),
        b.getNamedAttr("nn.initial", constant.getValue())};
    if (isMultiplied(constant))
      own.push_back(b.getNamedAttr(kMultiplied, b.getUnitAttr()));
    if (constant->hasAttr(kSparse))
      own.push_back(b.getNamedAttr(kSparse, b.getUnitAttr()));
    attributes.push_back(b.getDictionaryAttr(own));
    locations.push_back(constant.getLoc());
  }
  // At once: the function's type has all arguments.
  (void)main.insertArguments(SmallVector<unsigned>(types.size(), first), types,
                             attributes, locations);
  for (auto [constant, argument] :
       llvm::zip_equal(constants, main.getArguments().drop_front(first))) {
    constant->getResult(0).replaceAllUsesWith(argument);
    constant->erase();
  }
}

void frit::addResult(func::FuncOp main, Value value,
                     ArrayRef<NamedAttribute> attributes) {
  addResults(main, value, DictionaryAttr::get(main.getContext(), attributes));
}

void frit::addNextValue(func::FuncOp main, BlockArgument before, Value after) {
  OpBuilder b(main.getBody().front().getTerminator());
  Attribute state = main.getArgAttr(before.getArgNumber(), "nn.state");
  Value next = nn::UpdateOp::create(b, after.getLoc(), before, after,
                                    /*offset=*/nullptr, /*axis=*/0);
  addResult(main, next, b.getNamedAttr("nn.state", state));
}

void frit::addResults(func::FuncOp main, ArrayRef<Value> values,
                      ArrayRef<DictionaryAttr> attributes) {
  (void)main.insertResults(
      SmallVector<unsigned>(values.size(), main.getNumResults()),
      SmallVector<Type>(ValueRange(values).getTypes()), attributes);
  Operation *terminator = main.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), values);
}
