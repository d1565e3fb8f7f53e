//===- CharacterSet.h - Sets of Unicode characters ------------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_CHARACTERSET_H
#define FRIT_COMPILER_ONNX_STRINGS_CHARACTERSET_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace frit::importer {

inline constexpr uint32_t kLastCharacter = 0x10ffff;

/// A set of characters, as inclusive ranges.
class CharacterSet {
public:
  CharacterSet() = default;
  CharacterSet(uint32_t first, uint32_t last) { add(first, last); }

  void add(uint32_t first, uint32_t last) { ranges.push_back({first, last}); }
  void add(const CharacterSet &other) { ranges.append(other.ranges); }
  /// Adds the other case of ASCII letters.
  void ignoreCase();
  /// Returns all other characters.
  CharacterSet inverted() const;

  struct ByteRange {
    uint8_t low, high;
  };
  /// Calls `visit` with sequences of byte ranges that together are the UTF-8 of
  /// the set's characters.
  void visitUtf8(
      llvm::function_ref<void(llvm::ArrayRef<ByteRange> bytes)> visit) const;

private:
  struct Range {
    uint32_t first, last;
  };
  /// Returns the ranges, ascending and apart.
  llvm::SmallVector<Range> sorted() const;

  llvm::SmallVector<Range> ranges;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_CHARACTERSET_H
