//===- Entries.h - Entries of the tables of a plan ------------------------===//
//
// Filled by the compiler and by tests that write plans by hand. Must not
// include LLVM headers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_ENTRIES_H
#define FRIT_CODEGEN_ARTIFACT_ENTRIES_H

#include "frit/artifact.h"

#include <vector>

namespace frit::artifact {

/// Entries of every table of a plan.
struct Entries {
#define TABLE(name, Entry, words) std::vector<Entry> name;
  FRIT_PLAN_TABLES(TABLE)
#undef TABLE

  /// Sets every table of `header` to what `placeTable` returns for its entries,
  /// in the order of a plan.
  template <typename Place>
  void place(Header &header, const Place &placeTable) const {
#define TABLE(name, Entry, words)                                              \
  static_cast<Table &>(header.name) = placeTable(name);
    FRIT_PLAN_TABLES(TABLE)
#undef TABLE
  }
};

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_ENTRIES_H
