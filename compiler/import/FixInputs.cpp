//===- FixInputs.cpp - Find the inputs that a value depends on ------------===//

#include "compiler/import/Import.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;

/// Returns "x" for the location "input 'x'", which every argument has.
static StringRef inputName(BlockArgument argument) {
  auto named = dyn_cast<NameLoc>(argument.getLoc());
  StringRef text = named ? named.getName().getValue() : StringRef();
  return text.consume_front("input '") && text.consume_back("'") ? text
                                                                 : StringRef();
}

std::string frit::fixInputsHint(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  SmallVector<BlockArgument> inputs;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(reached[i]))
      inputs.push_back(argument);
    else
      reached.insert_range(reached[i].getDefiningOp()->getOperands());
  }
  llvm::sort(inputs, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  std::string text;
  for (BlockArgument input : inputs)
    if (StringRef name = inputName(input); !name.empty())
      text += ((text.empty() ? "; -fconst-input=" : " -fconst-input=") + name +
               "=@FILE")
                  .str();
  if (!text.empty())
    text += inputs.size() == 1 ? " makes that input a constant"
                               : " make these inputs constants";
  return text;
}
