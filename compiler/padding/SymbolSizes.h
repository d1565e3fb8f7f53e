//===- SymbolSizes.h - The sizes a model is compiled for ------------------===//

#ifndef FRIT_COMPILER_PADDING_SYMBOLSIZES_H
#define FRIT_COMPILER_PADDING_SYMBOLSIZES_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace frit {

/// Maximum number of variants of a model in an artifact.
inline constexpr int64_t kMostVariants = 64;

/// A symbolic dimension that is compiled for several sizes.
struct SymbolSizes {
  std::string name;
  int64_t least = 1, most = 1; ///< sizes that calls may have
  int64_t multiple = 1;        ///< that each size is a multiple of
  /// Sizes of the variants, ascending; the last is `most`.
  std::vector<int64_t> sizes;
  /// All sizes that the command line names, ascending and apart: the ends of
  /// each range. A size that is listed is a range of one.
  std::vector<std::pair<int64_t, int64_t>> ranges;

  /// Returns whether the sizes were listed, not chosen from a range.
  bool isList() const {
    for (auto [first, last] : ranges)
      if (first != last)
        return false;
    return true;
  }
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_SYMBOLSIZES_H
