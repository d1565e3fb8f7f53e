//===- SharedLibrary.h - Open a compiled model's file ---------------------===//

#ifndef FRIT_EXEC_SHAREDLIBRARY_H
#define FRIT_EXEC_SHAREDLIBRARY_H

#include "runtime/exec/Status.h"

namespace frit {

/// Opens the shared library at `path` and finds its image. The dynamic loader
/// trusts a file's own word for its length and dies where it is cut off, so the
/// file is looked at first.
Status openModelLibrary(const std::string &path, void *&library,
                        const frit_image *&image);

} // namespace frit

#endif // FRIT_EXEC_SHAREDLIBRARY_H
