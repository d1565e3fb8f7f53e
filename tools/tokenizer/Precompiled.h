//===- Precompiled.h - SentencePiece's map of characters ------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_PRECOMPILED_H
#define FRIT_TOOLS_TOKENIZER_PRECOMPILED_H

#include "tools/support/Fault.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit::tokenizer {

/// A map from short texts to others: a Darts double array, then the others,
/// each ended by a zero byte.
class Precompiled {
public:
  /// Reads a map that may be damaged. An empty one changes nothing.
  tools::Fault read(std::string_view bytes);
  tools::Fault readBase64(std::string_view encoded);

  /// Replaces each cluster of characters below 6 bytes that has an entry, and
  /// in other clusters each character that has one.
  void apply(std::string &text) const;

private:
  /// Returns whether a prefix of `text` has an entry, and appends what the
  /// shortest one becomes.
  bool appendMapped(std::string_view text, std::string &result) const;

  std::vector<uint32_t> units;
  std::string targets;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_PRECOMPILED_H
