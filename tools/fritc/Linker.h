//===- Linker.h - LLVM's linker inside fritc ------------------------------===//

#ifndef FRIT_TOOLS_FRITC_LINKER_H
#define FRIT_TOOLS_FRITC_LINKER_H

#include <optional>

namespace frit {

/// Runs LLVM's linker if the first argument is kLinkFlag, with those that
/// follow it. Returns the exit status, or nothing if the arguments are fritc's
/// own.
std::optional<int> runLinker(int argc, char **argv);

} // namespace frit

#endif // FRIT_TOOLS_FRITC_LINKER_H
