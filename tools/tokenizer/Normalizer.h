//===- Normalizer.h - What is done to a text before it is split -----------===//

#ifndef FRIT_TOOLS_TOKENIZER_NORMALIZER_H
#define FRIT_TOOLS_TOKENIZER_NORMALIZER_H

#include "tools/tokenizer/Json.h"

#include <functional>

namespace frit::tokenizer {

/// Changes a text; fails where a regular expression of the file does.
using NormalizerStep = std::function<tools::Fault(std::string &text)>;

/// Runs in order. Any number of threads may use it.
using Normalizer = std::vector<NormalizerStep>;

/// Appends the steps of tokenizer.json's "normalizer"; none if it is null.
tools::Fault readNormalizer(const Node &node, Normalizer &normalizer);

tools::Fault normalize(const Normalizer &normalizer, std::string &text);

/// Unicode's normalization forms.
enum class Form { nfc, nfd, nfkc, nfkd };
void normalizeForm(std::string &text, Form form);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_NORMALIZER_H
