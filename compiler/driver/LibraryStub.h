//===- LibraryStub.h - Stand-ins of another machine's libraries -----------===//

#ifndef FRIT_COMPILER_DRIVER_LIBRARYSTUB_H
#define FRIT_COMPILER_DRIVER_LIBRARYSTUB_H

#include "frit/host_arch.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// Writes a shared library to `path` that linkers take for `name`, as
/// "libm.so.6": it defines every symbol that `objects`, ELF files, use and none
/// of them defines. The definitions have no code and no version, so a loader
/// binds to the library's default versions.
llvm::Error writeLibraryStub(HostMachine machine, llvm::StringRef name,
                             llvm::ArrayRef<std::string> objects,
                             llvm::StringRef path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_LIBRARYSTUB_H
