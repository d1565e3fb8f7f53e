//===- HelpLists.h - The lists of operators and targets -------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_HELPLISTS_H
#define FRIT_COMPILER_DRIVER_OPTIONS_HELPLISTS_H

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace frit {

/// Prints every nn operator with its ONNX name and what it means.
void printOperators(llvm::raw_ostream &os);

/// Prints a table of `targets`, which are all values of -march: the GPU for
/// which schedules are chosen, its sizes, and the instructions that kernels
/// use. Leaves out GPUs of machines whose host code is not among the targets:
/// no artifact runs there.
void printTargets(llvm::raw_ostream &os,
                  const std::vector<std::string> &targets);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_HELPLISTS_H
