//===- Pattern.h - Patterns of normalizers, splitters and decoders --------===//

#ifndef FRIT_TOOLS_TOKENIZER_PATTERN_H
#define FRIT_TOOLS_TOKENIZER_PATTERN_H

#include "tools/tokenizer/Json.h"
#include "tools/tokenizer/Regex.h"

namespace frit::tokenizer {

/// Reads tokenizer.json's {"String": text} or {"Regex": expression}.
tools::Fault readPattern(const Node &node, Regex &regex);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_PATTERN_H
