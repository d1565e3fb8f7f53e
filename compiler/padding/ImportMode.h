//===- ImportMode.h - How to import a model for some sizes ----------------===//

#ifndef FRIT_COMPILER_PADDING_IMPORTMODE_H
#define FRIT_COMPILER_PADDING_IMPORTMODE_H

#include <cstdint>
#include <vector>

namespace frit {

/// How to import a model for one of several sizes.
struct ImportMode {
  bool computesPlaces = false; ///< as ImportOptions::computesPlaces
  /// As ImportOptions::choices and followsChoices.
  std::vector<int64_t> *choices = nullptr;
  bool followsChoices = false;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_IMPORTMODE_H
