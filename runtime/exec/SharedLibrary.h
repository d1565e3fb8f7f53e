//===- SharedLibrary.h - Open a compiled model's file ---------------------===//

#ifndef FRIT_EXEC_SHAREDLIBRARY_H
#define FRIT_EXEC_SHAREDLIBRARY_H

#include "runtime/exec/Status.h"

namespace frit {

/// Opens the shared library at `path` and finds its image. Checks the ELF
/// segments first: the dynamic loader crashes on a truncated file. A file that
/// has replaced one that the process has open is another library. The caller
/// closes `library`.
Status openModelLibrary(const std::string &path, void *&library,
                        const frit_image *&image);

} // namespace frit

#endif // FRIT_EXEC_SHAREDLIBRARY_H
