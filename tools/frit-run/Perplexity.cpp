//===- Perplexity.cpp - How well a language model foresees a text ---------===//

#include "Perplexity.h"

#include <algorithm>
#include <cmath>

using namespace frit::run;

/// Returns -log of the probability that logits give to a token, in nats.
static double surprisalOf(const std::vector<float> &logits, int32_t token) {
  double most = *std::ranges::max_element(logits), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - most);
  return std::log(sum) + most - double(logits[size_t(token)]);
}

double Perplexity::value() const { return std::exp(loss); }

frit_status frit::run::measurePerplexity(frit_session *session,
                                         const std::vector<int32_t> &tokens,
                                         Perplexity &result) {
  std::vector<float> logits(frit_session_vocabulary(session));
  result.window = frit_session_capacity(session);
  double sum = 0;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    size_t place = i % result.window;
    if (place == 0)
      if (frit_status status = frit_session_rewind(session, 0, 0))
        return status;
    if (frit_status status =
            frit_session_prefill(session, 0, &tokens[i], 1, logits.data()))
      return status;
    // The next call reports a token that the model does not know.
    bool isForeseen = place + 1 < result.window && tokens[i + 1] >= 0 &&
                      size_t(tokens[i + 1]) < logits.size();
    if (!isForeseen)
      continue;
    sum += surprisalOf(logits, tokens[i + 1]);
    ++result.tokens;
  }
  result.loss = result.tokens ? sum / double(result.tokens) : 0;
  return FRIT_OK;
}
