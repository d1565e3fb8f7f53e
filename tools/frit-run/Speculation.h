//===- Speculation.h - Guesses of a language model's next tokens ----------===//

#ifndef FRIT_TOOLS_FRIT_RUN_SPECULATION_H
#define FRIT_TOOLS_FRIT_RUN_SPECULATION_H

#include "Options.h"
#include "frit/generate.h"
#include "frit/runtime.hpp"
#include "tools/support/Fault.h"

#include <memory>
#include <vector>

namespace frit::run {

struct DestroySession {
  void operator()(frit_session *session) const {
    frit_session_destroy(session);
  }
};
using SessionHandle = std::unique_ptr<frit_session, DestroySession>;

/// Returns the fault of a call of the runtime.
inline Fault called(frit_status status) {
  return status == FRIT_OK ? Fault() : Fault(frit_last_error());
}

/// Guesses tokens, which a model checks several at a time: by looking up what
/// followed the last ones before, or by a smaller model.
class Speculation {
public:
  /// Opens the draft if there is one. Fails if it does not fit `model`, or this
  /// has no function that checks guesses.
  Fault open(const Options &options, frit_session *model);

  bool isOn() const { return most > 0; }

  /// Extends `sequence`, of which `model` knows the tokens, by at least 1 and
  /// at most `left` tokens, which replace `tokens`.
  Fault extend(frit_session *model, const frit_sampling &sampling,
               const std::vector<int32_t> &sequence, uint64_t left,
               std::vector<int32_t> &tokens);

  uint64_t guessed = 0, right = 0; ///< guesses so far

private:
  Fault guess(const std::vector<int32_t> &sequence, uint32_t count,
              std::vector<int32_t> &guesses);

  uint32_t most = 0; ///< guesses at a time
  Module draftModule;
  SessionHandle draft;        ///< null for prompt lookup
  std::vector<int32_t> known; ///< tokens in the draft's caches
};

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_SPECULATION_H
