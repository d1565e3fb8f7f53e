//===- LfsPointer.h - Files that Git LFS has not fetched ------------------===//

#ifndef FRIT_COMPILER_IMPORT_LFSPOINTER_H
#define FRIT_COMPILER_IMPORT_LFSPOINTER_H

#include "llvm/ADT/StringRef.h"

namespace frit::importer {

/// Returns whether a file has what Git LFS leaves in its place until it is
/// fetched.
inline bool isLfsPointer(llvm::StringRef content) {
  return content.ltrim().starts_with(
      "version https://git-lfs.github.com/spec/");
}

/// What such a file is, and what to do.
inline constexpr llvm::StringLiteral kLfsPointer =
    "is a pointer of Git LFS, not the file itself; `git lfs pull` fetches it";

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_LFSPOINTER_H
