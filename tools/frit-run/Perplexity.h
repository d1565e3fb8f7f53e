//===- Perplexity.h - How well a language model foresees a text -----------===//

#ifndef FRIT_TOOLS_FRIT_RUN_PERPLEXITY_H
#define FRIT_TOOLS_FRIT_RUN_PERPLEXITY_H

#include "frit/generate.h"

#include <cstddef>
#include <vector>

namespace frit::run {

/// A model's perplexity on a text: Jelinek et al., "Perplexity: a measure of
/// the difficulty of speech recognition tasks", 1977.
struct Perplexity {
  double loss = 0;   ///< mean of -log of the tokens' probabilities, in nats
  size_t tokens = 0; ///< that were foreseen
  size_t window = 0; ///< tokens that see each other

  /// e to the loss.
  double value() const;
};

/// Measures it in windows of the session's capacity, one after another. Each
/// token is foreseen from those before it in its window; the first one is not.
/// Uses sequence 0 and leaves tokens in it. Fails as frit_session_prefill.
frit_status measurePerplexity(frit_session *session,
                              const std::vector<int32_t> &tokens,
                              Perplexity &result);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_PERPLEXITY_H
