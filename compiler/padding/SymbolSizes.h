//===- SymbolSizes.h - The sizes a model is compiled for ------------------===//

#ifndef FRIT_COMPILER_PADDING_SYMBOLSIZES_H
#define FRIT_COMPILER_PADDING_SYMBOLSIZES_H

#include <cstdint>
#include <string>
#include <vector>

namespace frit {

/// Maximum number of variants of a model in an artifact.
inline constexpr int64_t kMostVariants = 64;

/// A symbolic dimension that is compiled for several sizes.
struct SymbolSizes {
  std::string name;
  int64_t least = 1, most = 1; ///< sizes that calls may have
  /// Sizes of the variants, ascending; the last is `most`.
  std::vector<int64_t> sizes;
  bool isList = false; ///< the sizes were listed, not chosen from a range
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_SYMBOLSIZES_H
