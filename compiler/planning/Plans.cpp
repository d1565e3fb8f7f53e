//===- Plans.cpp - The plans of all targets -------------------------------===//

#include "compiler/planning/Plans.h"

using namespace mlir;
using namespace frit;

LogicalResult planning::Plans::add(ModuleOp variant, StringRef name) {
  constants.take(variant);
  if (failed(states.take(variant)))
    return failure();
  for (auto from :
       llvm::make_early_inc_range(variant.getOps<plan::ProgramOp>())) {
    SmallVector<plan::CommandListOp> mains = from.getMains();
    if (mains.empty())
      return from.emitOpError("has no main list of commands");
    mains.front().setSymName(name);
    if (plan::ProgramOp into =
            program(from.getFunctionName(), from.getArch())) {
      mergeVariant(into, from, name);
      continue;
    }
    if (std::optional<StringRef> function = from.getFunction())
      from.setSymName((from.getSymName() + "_" + *function).str());
    from->remove();
    symbols.insert(from);
  }
  return success();
}

plan::ProgramOp planning::Plans::program(StringRef function,
                                         StringRef arch) const {
  for (auto program : module().getOps<plan::ProgramOp>())
    if (program.getFunctionName() == function && program.getArch() == arch)
      return program;
  return {};
}
