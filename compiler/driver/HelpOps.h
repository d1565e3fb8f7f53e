//===- HelpOps.h - The list of operators ----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_HELPOPS_H
#define FRIT_COMPILER_DRIVER_HELPOPS_H

#include "llvm/Support/raw_ostream.h"

namespace frit {

/// Prints every nn operator with its ONNX name and what it means.
void printOperators(llvm::raw_ostream &os);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_HELPOPS_H
