//===- Splitter.h - Split a text into pieces that no token spans ----------===//

#ifndef FRIT_TOOLS_TOKENIZER_SPLITTER_H
#define FRIT_TOOLS_TOKENIZER_SPLITTER_H

#include "tools/tokenizer/Json.h"
#include "tools/tokenizer/Regex.h"

#include <functional>

namespace frit::tokenizer {

struct Piece {
  std::string text;
  bool isFirst = false; ///< begins where the whole text does
};

/// Changes the texts of pieces, or splits them into more, none of them empty.
using SplitterStep = std::function<tools::Fault(std::vector<Piece> &pieces)>;

/// Runs in order. Any number of threads may use it.
using Splitter = std::vector<SplitterStep>;

/// Appends the steps of tokenizer.json's "pre_tokenizer"; none if it is null.
tools::Fault readSplitter(const Node &node, Splitter &splitter);

/// What becomes of a match: a piece of its own, nothing, a part of the piece
/// before or after it, or one piece with the matches beside it.
enum class OnMatch {
  isolate,
  remove,
  mergeWithPrevious,
  mergeWithNext,
  joinMatches
};

/// Splits at matches of an expression, or with `inverted` at what lies between.
SplitterStep splitAt(Regex regex, OnMatch onMatch, bool inverted = false);

/// Splits at characters of a class.
SplitterStep splitAt(std::function<bool(int32_t)> isMatch, OnMatch onMatch);

/// Splits as GPT-2 does, into words with the space before them.
tools::Fault addGpt2Split(Splitter &splitter);

/// Turns bytes into GPT-2's characters.
SplitterStep mapBytes();

/// Where a space is added at the start of pieces that begin with none.
enum class Prepend { never, first, always };

/// Turns spaces into `replacement` and splits before each.
void addMetaspace(const std::string &replacement, Prepend prepend, bool splits,
                  Splitter &splitter);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_SPLITTER_H
