//===- Arguments.cpp - Add arguments and results to a function ------------===//

#include "compiler/transform/training/Arguments.h"

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

BlockArgument frit::replaceByArgument(func::FuncOp main,
                                      nn::ConstantOp constant, StringRef kind) {
  Builder b(main.getContext());
  BlockArgument argument =
      addArgument(main, constant.getType(),
                  {b.getNamedAttr(kind, constant.getNameAttr()),
                   b.getNamedAttr("nn.initial", constant.getValue())},
                  constant.getLoc());
  constant.getY().replaceAllUsesWith(argument);
  constant.erase();
  return argument;
}

void frit::addResult(func::FuncOp main, Value value,
                     ArrayRef<NamedAttribute> attributes) {
  (void)main.insertResult(main.getNumResults(), value.getType(),
                          DictionaryAttr::get(main.getContext(), attributes));
  Operation *terminator = main.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
}
