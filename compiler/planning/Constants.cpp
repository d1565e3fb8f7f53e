//===- Constants.cpp - Constants of a plan --------------------------------===//

#include "compiler/planning/Constants.h"
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

StringAttr Constants::get(StringRef wanted, ElementsAttr value, Location loc) {
  Namesakes &namesakes = byName[wanted];
  while (true) {
    if (StringAttr known = namesakes.entries.lookup(value))
      return known;
    std::string name = wanted.str();
    if (namesakes.taken)
      name += "." + std::to_string(namesakes.taken);
    Operation *taken = symbols.lookup(name);
    if (!taken)
      return namesakes.entries[value] = create(name, value, loc);
    if (auto constant = dyn_cast<plan::ConstantOp>(taken))
      namesakes.entries.try_emplace(constant.getValue(),
                                    constant.getSymNameAttr());
    ++namesakes.taken;
  }
}

StringAttr Constants::create(StringRef name, ElementsAttr value, Location loc) {
  OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
  auto constant = plan::ConstantOp::create(outside, loc,
                                           outside.getStringAttr(name), value);
  symbols.insert(constant);
  return constant.getSymNameAttr();
}
