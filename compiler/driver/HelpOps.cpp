//===- HelpOps.cpp - The list of operators --------------------------------===//

#include "compiler/driver/HelpOps.h"

#include "dialects/nn/NN.h"

using namespace frit;

void frit::printOperators(llvm::raw_ostream &os) {
  for (const nn::OperatorEntry &entry : nn::operators()) {
    llvm::StringRef name = entry.operation;
    name.consume_front("nn.");
    os << llvm::left_justify(name, 19) << llvm::left_justify(entry.onnx, 21)
       << (entry.hasGradient ? "gradient " : "-        ") << entry.summary
       << "\n";
  }
}
