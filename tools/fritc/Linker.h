//===- Linker.h - LLVM's linker inside fritc ------------------------------===//

#ifndef FRITC_LINKER_H
#define FRITC_LINKER_H

#include <optional>

namespace frit {

/// Runs LLVM's linker if the first argument is kLinkFlag, with those that follow
/// it. Returns the exit status, or nothing if the arguments are fritc's own.
std::optional<int> runLinker(int argc, char **argv);

} // namespace frit

#endif // FRITC_LINKER_H
