//===- KernelText.cpp - Which fusions share a kernel ----------------------===//

#include "dialects/nn/KernelText.h"

using namespace mlir;
using namespace frit;

std::string nn::kernelText(FusionOp fusion) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Printed alone, so that values are numbered from the fusion on and equal
  // fusions have equal text.
  Operation *clone = fusion->clone();
  clone->eraseOperands(0, clone->getNumOperands());
  clone->print(os, OpPrintingFlags().printGenericOpForm());
  clone->destroy();
  for (Type type : fusion.getInputs().getTypes())
    os << type;
  return text;
}
