//===- SharedLibrary.h - Open a compiled model's file ---------------------===//

#ifndef FRIT_RUNTIME_EXEC_SHAREDLIBRARY_H
#define FRIT_RUNTIME_EXEC_SHAREDLIBRARY_H

#include "runtime/exec/Status.h"

namespace frit {

/// Opens the shared library at `path` and finds its image. Checks the ELF
/// header and segments first: the dynamic loader crashes on a truncated file,
/// and does not say which machine another one's file is for.
/// Opens the present file even if the process still has an earlier one open at
/// this path. The caller closes `library`.
Status openModelLibrary(const std::string &path, void *&library,
                        const frit_image *&image);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_SHAREDLIBRARY_H
