//===- Tables.h - Build the tables of a plan ------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_TABLES_H
#define FRIT_CODEGEN_ARTIFACT_TABLES_H

#include "codegen/artifact/Entries.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <string>

namespace frit::artifact {

/// Collects table entries and lays them out after the header.
class Tables : public Entries {
public:
  /// Interns a string.
  Text text(llvm::StringRef s) {
    auto [it, isNew] = known.try_emplace(
        s, Text{uint32_t(strings.size()), uint32_t(s.size())});
    if (isNew)
      strings.append(s.data(), s.size());
    return it->second;
  }

  Range shape(llvm::ArrayRef<int64_t> sizes) {
    Range range{uint32_t(dims.size()), uint32_t(sizes.size())};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return range;
  }

  /// Adds bytes after the tables. Blob::offset is relative to the first blob
  /// until `write`.
  Blob blob(llvm::StringRef bytes) {
    blobs.resize(llvm::alignTo(blobs.size(), 16));
    Blob result{blobs.size(), bytes.size()};
    blobs.append(bytes.data(), bytes.size());
    return result;
  }

  /// Returns the whole plan. `header` has the fields that are not tables.
  std::string write(Header header);

private:
  std::string strings;
  std::string blobs;
  llvm::StringMap<Text> known;
};

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_TABLES_H
