//===- Plans.cpp - The plans of all targets -------------------------------===//

#include "compiler/planning/Plans.h"

using namespace mlir;
using namespace frit;

void planning::Plans::add(ModuleOp variant, StringRef name) {
  constants.take(variant);
  for (auto from :
       llvm::make_early_inc_range(variant.getOps<plan::ProgramOp>())) {
    from.getMains().front().setSymName(name);
    if (plan::ProgramOp into = program(from.getArch())) {
      mergeVariant(into, from, name);
      continue;
    }
    from->remove();
    symbols.insert(from);
  }
}

plan::ProgramOp planning::Plans::program(StringRef arch) const {
  for (auto program : module().getOps<plan::ProgramOp>())
    if (program.getArch() == arch)
      return program;
  return {};
}
