//===- States.cpp - State of a function under construction ----------------===//

#include "compiler/training/optimizer/States.h"

#include "compiler/training/Arguments.h"

#include "frit/role_names.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

Value States::add(StringRef name, frit_state_role role, RankedTensorType type,
                  ArrayRef<MemberAttr> members, bool sharded) {
  auto b = OpBuilder(main);
  SmallVector<Attribute> all(members.begin(), members.end());
  StateOp::create(b, main.getLoc(), name, type, b.getArrayAttr(all),
                  artifact::kStateRoles[role], sharded,
                  /*derived_from=*/nullptr);
  return addArgument(
      main, type,
      b.getNamedAttr("nn.state", FlatSymbolRefAttr::get(b.getContext(), name)),
      main.getLoc());
}

TensorExpr States::addNumber(NNBuilder &b, StringRef name, frit_state_role role,
                             Type element, double initial) {
  auto type = RankedTensorType::get({}, element);
  Attribute number = isa<FloatType>(element)
                         ? Attribute(b.getFloatAttr(element, initial))
                         : b.getIntegerAttr(element, int64_t(initial));
  ElementsAttr value;
  if (initial != 0)
    value = DenseElementsAttr::get(type, number);
  return {b, add(name, role, type,
                 MemberAttr::get(b.getContext(), b.getStringAttr(name), 0, type,
                                 value))};
}

void States::addResults() {
  for (auto [before, after] : after_)
    addNextValue(main, cast<BlockArgument>(before), after);
}
