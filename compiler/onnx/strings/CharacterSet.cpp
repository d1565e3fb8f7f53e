//===- CharacterSet.cpp - Sets of Unicode characters ----------------------===//

#include "compiler/onnx/strings/CharacterSet.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace frit::importer;

void CharacterSet::ignoreCase() {
  for (size_t i = 0, count = ranges.size(); i < count; ++i)
    for (uint32_t first : {'A', 'a'}) {
      uint32_t low = std::max(ranges[i].first, first),
               high = std::min(ranges[i].last, first + 25);
      if (low <= high)
        ranges.push_back({low ^ 0x20, high ^ 0x20});
    }
}

SmallVector<CharacterSet::Range> CharacterSet::sorted() const {
  SmallVector<Range> all = ranges, result;
  llvm::sort(all, [](Range a, Range b) { return a.first < b.first; });
  for (Range range : all) {
    if (!result.empty() && range.first <= result.back().last + 1)
      result.back().last = std::max(result.back().last, range.last);
    else
      result.push_back(range);
  }
  return result;
}

CharacterSet CharacterSet::inverted() const {
  CharacterSet result;
  uint32_t next = 0;
  for (Range range : sorted()) {
    if (range.first > next)
      result.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLastCharacter)
    result.add(next, kLastCharacter);
  return result;
}

/// Writes the UTF-8 of a character; returns the number of bytes.
static unsigned encode(uint32_t c, uint8_t *bytes) {
  unsigned size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (unsigned i = size; i-- > 1; c >>= 6)
    bytes[i] = 0x80 | (c & 0x3f);
  static constexpr uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  bytes[0] = heads[size] | c;
  return size;
}

using Visit = llvm::function_ref<void(ArrayRef<CharacterSet::ByteRange>)>;

/// Visits the UTF-8 of a range: splits it until the bytes of each position are
/// independent of those of the others.
static void visitRange(uint32_t first, uint32_t last, Visit visit) {
  // Lengths differ.
  for (uint32_t end : {0x7fu, 0x7ffu, 0xffffu})
    if (first <= end && last > end) {
      visitRange(first, end, visit);
      visitRange(end + 1, last, visit);
      return;
    }
  // Surrogates are no characters.
  if (first < 0xd800 && last >= 0xd800) {
    visitRange(first, 0xd7ff, visit);
    visitRange(0xd800, last, visit);
    return;
  }
  if (first >= 0xd800 && first < 0xe000) {
    if (last >= 0xe000)
      visitRange(0xe000, last, visit);
    return;
  }
  uint8_t low[4], high[4];
  unsigned size = encode(first, low);
  encode(last, high);
  for (unsigned i = 1; i < size; ++i) {
    // Characters whose bytes differ before the last i must be whole blocks.
    uint32_t mask = (1u << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask))
      continue;
    if (first & mask) {
      visitRange(first, first | mask, visit);
      visitRange((first | mask) + 1, last, visit);
      return;
    }
    if ((last & mask) != mask) {
      visitRange(first, (last & ~mask) - 1, visit);
      visitRange(last & ~mask, last, visit);
      return;
    }
  }
  SmallVector<CharacterSet::ByteRange, 4> bytes;
  for (unsigned i = 0; i < size; ++i)
    bytes.push_back({low[i], high[i]});
  visit(bytes);
}

void CharacterSet::visitUtf8(Visit visit) const {
  for (Range range : sorted())
    visitRange(range.first, range.last, visit);
}
