//===- Session.h - Sequences that a language model extends ----------------===//

#ifndef FRIT_RUNTIME_GENERATE_SESSION_H
#define FRIT_RUNTIME_GENERATE_SESSION_H

#include "frit/generate.h"
#include "runtime/exec/Api.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace frit {

/// What comes next in a sequence.
enum class Next {
  none,    ///< not known: it has no token yet, or was rewound
  ready,   ///< chosen on the device, not read yet; the host has the logits
  chosen,  ///< known to the caller and the device
  ownToken ///< chosen by the host, not known to the device
};

/// A sequence as the host knows it.
struct Sequence {
  /// Those in the caches and, if the caller knows it, the next.
  std::vector<int32_t> tokens;
  uint32_t length = 0; ///< tokens in the caches
  Next next = Next::none;

  /// Returns whether the caller has a token that is not in the caches.
  bool isAhead() const {
    return next == Next::chosen || next == Next::ownToken;
  }
};

} // namespace frit

/// Defined here, since the C interface names it.
struct frit_session {
  ~frit_session() {
    for (frit_context *context : {encode, verify, decode, prefill})
      frit_context_destroy(context);
    for (frit_module *function : opened)
      frit_module_close(function);
  }

  frit::Status open(frit_module *given);
  frit::Status findFunctions(frit_module *given);
  frit::Status findStates();
  frit::Status readChunks();
  frit::Status readVerify();
  /// Calls prefill for `counts[i]` tokens of each sequence, of which `tokens`
  /// has room for the most, and reads the logits of those that have any.
  frit::Status extend(const std::vector<int32_t> &tokens, int64_t width,
                      const std::vector<int32_t> &counts);
  frit::Status prefillAll(uint32_t sequence,
                          const std::vector<int32_t> &tokens);
  frit::Status decodeOnDevice(int32_t *to, uint32_t count);
  frit::Status decodeByLogits(const frit_sampling &sampling, int32_t *to,
                              uint32_t count);
  /// Appends the tokens that the caller has, so that all sequences are ready.
  frit::Status appendChosen();
  bool all(frit::Next next) const {
    return std::all_of(
        sequences.begin(), sequences.end(),
        [&](const frit::Sequence &own) { return own.next == next; });
  }
  /// Fails if the device had no token for one of the last `count` places of a
  /// sequence, whose tokens before it then stay: what it keeps is no token if a
  /// logit is NaN.
  frit::Status checkTokens(uint32_t count);
  frit::Status checkRoom(uint32_t steps) const;
  /// Fails if a sequence has no token to continue from, or if none may follow.
  frit::Status checkBegun() const;
  frit::Status writeLengths();
  /// Makes the device's lengths and tokens those of the sequences, whose next
  /// tokens are known.
  frit::Status writeSequences();
  float *logitsOf(uint32_t sequence) {
    return logits.data() + size_t(sequence) * vocabulary;
  }
  const float *logitsOf(uint32_t sequence) const {
    return logits.data() + size_t(sequence) * vocabulary;
  }

  frit_module *module = nullptr;
  std::vector<frit_module *> opened;
  frit_module *prefillModule = nullptr, *decodeModule = nullptr,
              *verifyModule = nullptr, *encodeModule = nullptr;
  frit_context *prefill = nullptr, *decode = nullptr, *verify = nullptr,
               *encode = nullptr;
  uint32_t batch = 0, capacity = 0, vocabulary = 0, chunk = 0;
  bool hasSource = false; ///< encode has run
  uint32_t verified = 0;  ///< tokens of a call of verify
  const char *lengthName = nullptr, *tokensName = nullptr;
  std::vector<frit::Sequence> sequences;
  std::vector<float> logits; ///< batch × vocabulary
  std::atomic<bool> isBusy = false;
};

namespace frit {

/// Holds a session for one call.
class SessionUse {
public:
  explicit SessionUse(frit_session &session)
      : session(session), isMine(!session.isBusy.exchange(true)) {}
  ~SessionUse() {
    if (isMine)
      session.isBusy = false;
  }
  Status check() const {
    return isMine ? Status()
                  : invalidArgument("the session is used by another thread");
  }

private:
  frit_session &session;
  bool isMine;
};

/// Returns the failure of a call of the C interface.
inline Status called(frit_status status) {
  return status == FRIT_OK ? Status() : Status(status, frit_last_error());
}

inline frit_tensor hostTensor(const char *name, void *data, frit_dtype dtype,
                              const int64_t *dims, uint32_t rank) {
  return {name, data, dtype, rank, dims, FRIT_HOST};
}

/// Fails if numbers of a choice are out of their ranges.
Status checkSampling(const frit_sampling &chosen);

/// Fails if no token may follow, since no logit is a number above -inf.
Status checkLogits(const float *logits, uint32_t vocabulary);

/// Returns the natural logarithm of a token's share of exp(logits).
float logProbability(const float *logits, uint32_t vocabulary, int32_t token);

/// Returns whether the most likely token is chosen, as the device does.
inline bool isGreedy(const frit_sampling *sampling) {
  return !sampling || (sampling->temperature == 0 && !sampling->bias &&
                       !sampling->log_probabilities &&
                       (sampling->repetition_penalty == 0 ||
                        sampling->repetition_penalty == 1));
}

} // namespace frit

#endif // FRIT_RUNTIME_GENERATE_SESSION_H
