//===- States.cpp - State of a function under construction ----------------===//

#include "compiler/transform/training/States.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

Value States::add(StringRef name, RankedTensorType type,
                  ArrayRef<MemberAttr> members) {
  auto module = main->getParentOfType<ModuleOp>();
  auto b = OpBuilder(main);
  SmallVector<Attribute> all(members.begin(), members.end());
  StateOp::create(b, main.getLoc(), name, type, b.getArrayAttr(all));
  unsigned index = main.getNumArguments();
  auto attributes = b.getDictionaryAttr(b.getNamedAttr(
      "nn.state", FlatSymbolRefAttr::get(module.getContext(), name)));
  (void)main.insertArgument(index, type, attributes, main.getLoc());
  return main.getArgument(index);
}

TensorExpr States::addNumber(NNBuilder &b, StringRef name, Type element,
                             double initial) {
  auto type = RankedTensorType::get({}, element);
  Attribute number = isa<FloatType>(element)
                         ? Attribute(b.getFloatAttr(element, initial))
                         : b.getIntegerAttr(element, int64_t(initial));
  ElementsAttr value;
  if (initial != 0)
    value = DenseElementsAttr::get(type, number);
  return {b, add(name, type,
                 MemberAttr::get(b.getContext(), b.getStringAttr(name), 0, type,
                                 value))};
}

void States::addResults() {
  Operation *terminator = main.getBody().front().getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    DictionaryAttr dict = main.getResultAttrDict(i);
    attributes.push_back(dict ? dict : DictionaryAttr::get(main.getContext()));
  }
  Builder b(main.getContext());
  for (auto [before, after] : after_) {
    unsigned index = cast<BlockArgument>(before).getArgNumber();
    results.push_back(after);
    attributes.push_back(b.getDictionaryAttr(
        b.getNamedAttr("nn.state", main.getArgAttr(index, "nn.state"))));
  }
  terminator->setOperands(results);
  main.setType(b.getFunctionType(main.getArgumentTypes(),
                                 TypeRange(ValueRange(results))));
  main.setAllResultAttrs(attributes);
}
