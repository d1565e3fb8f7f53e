//===- Verify.cpp - Check guesses of the next tokens ----------------------===//
//
// The device keeps guesses as long as each is the likeliest token. With other
// choices the host chooses by the logits after each guess, as decode would,
// and corrects what the device kept.
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/Session.h"

using namespace frit;

namespace {
/// A call of frit_session_verify.
class Verification {
public:
  Verification(frit_session &session, const frit_sampling *sampling,
               const int32_t *guesses, const uint32_t *guessed, uint32_t width)
      : session(session), sampling(sampling), guesses(guesses),
        guessed(guessed), width(width), chosen(session.batch),
        logs(session.batch) {}

  Status check() const;
  Status run();
  void store(int32_t *tokens, uint32_t *made) const;

private:
  const int32_t *guessesOf(uint32_t sequence) const {
    return guesses + size_t(sequence) * width;
  }
  /// Tokens that a sequence appends if all guesses are right.
  uint32_t rowsOf(uint32_t sequence) const {
    return guessed[sequence] + session.sequences[sequence].isAhead();
  }
  Status chooseFirst(uint32_t sequence);
  template <typename Choose> Status keep(uint32_t sequence, Choose next);
  Status choose(uint32_t sequence, const float *logits, int32_t &token);
  Status call(size_t most, bool greedy, std::vector<int32_t> &likeliest,
              std::vector<float> &logits);

  frit_session &session;
  const frit_sampling *sampling;
  const int32_t *guesses;
  const uint32_t *guessed;
  uint32_t width;
  std::vector<std::vector<int32_t>> chosen; ///< of each sequence
  std::vector<std::vector<float>> logs;     ///< their log probabilities
  /// What each sequence appends: the token before the guesses, and these.
  std::vector<std::vector<int32_t>> rows;
};
} // namespace

Status Verification::check() const {
  if (!session.verify)
    return invalidArgument(
        format("model '%s' has no function of the role verify; fritc "
               "--verify=NUMBER makes one",
               frit_module_name(session.prefillModule)));
  FRIT_TRY(session.checkBegun());
  for (uint32_t i = 0; i < session.batch; ++i) {
    const Sequence &own = session.sequences[i];
    if (guessed[i] > width || guessed[i] > session.verified - 1)
      return invalidArgument(
          format("sequence %u has %u guesses; a call takes up to %u", i,
                 guessed[i], std::min(width, session.verified - 1)));
    if (rowsOf(i) > session.capacity - own.length)
      return invalidArgument(
          format("sequence %u has %u tokens, and its cache holds %u: there is "
                 "no room for %u more",
                 i, own.length, session.capacity, rowsOf(i)));
    for (uint32_t j = 0; j < guessed[i]; ++j)
      if (uint32_t(guessesOf(i)[j]) >= session.vocabulary)
        return invalidArgument(
            format("guess %d at [%u, %u] is not in the vocabulary, 0 to %u",
                   guessesOf(i)[j], i, j, session.vocabulary - 1));
  }
  return Status();
}

/// Chooses the token after those in a sequence's caches.
Status Verification::choose(uint32_t sequence, const float *logits,
                            int32_t &token) {
  const Sequence &own = session.sequences[sequence];
  std::vector<float> changed(logits, logits + session.vocabulary);
  frit_sampling none = {};
  FRIT_TRY(called(frit_sample(sampling ? sampling : &none, changed.data(),
                              session.vocabulary, own.tokens.data(), own.length,
                              &token)));
  if (sampling && sampling->log_probabilities)
    logs[sequence].push_back(logProbability(logits, session.vocabulary, token));
  return Status();
}

/// Chooses the next token of a sequence whose logits the host has. Guesses
/// after it count if the first one is right.
Status Verification::chooseFirst(uint32_t sequence) {
  const Sequence &own = session.sequences[sequence];
  std::vector<int32_t> &row = rows[sequence];
  const int32_t *guess = guessesOf(sequence);
  if (own.isAhead()) {
    row.push_back(own.tokens.back());
  } else {
    int32_t token = 0;
    FRIT_TRY(choose(sequence, session.logitsOf(sequence), token));
    chosen[sequence].push_back(token);
    if (!guessed[sequence] || *guess != token)
      return Status();
  }
  row.insert(row.end(), guess, guess + guessed[sequence]);
  return Status();
}

/// Appends the tokens of a sequence's row up to a wrong guess, and what
/// `next(i)` chooses after the last of them.
template <typename Choose>
Status Verification::keep(uint32_t sequence, Choose next) {
  Sequence &own = session.sequences[sequence];
  const std::vector<int32_t> &row = rows[sequence];
  own.tokens.resize(own.length);
  for (size_t i = 0; i < row.size(); ++i) {
    own.tokens.push_back(row[i]);
    ++own.length;
    int32_t token = 0;
    FRIT_TRY(next(i, token));
    chosen[sequence].push_back(token);
    if (i + 1 < row.size() && row[i + 1] != token)
      break;
  }
  own.tokens.push_back(chosen[sequence].back());
  own.next = row.empty() ? Next::ownToken : Next::chosen;
  return Status();
}

Status Verification::run() {
  rows.resize(session.batch);
  size_t most = 0;
  for (uint32_t i = 0; i < session.batch; ++i) {
    FRIT_TRY(chooseFirst(i));
    most = std::max(most, rows[i].size());
  }
  std::vector<int32_t> likeliest;
  std::vector<float> logits;
  bool greedy = isGreedy(sampling);
  if (most > 0)
    FRIT_TRY(call(most, greedy, likeliest, logits));
  for (uint32_t i = 0; i < session.batch; ++i)
    FRIT_TRY(keep(i, [&](size_t at, int32_t &token) {
      size_t place = i * most + at;
      if (!greedy)
        return choose(i, logits.data() + place * session.vocabulary, token);
      token = likeliest[place];
      return Status();
    }));
  return greedy ? session.checkTokens(uint32_t(most) + 1)
                : session.writeSequences();
}

/// Calls the function for rows of `most` tokens. Reads the likeliest tokens, or
/// all logits.
Status Verification::call(size_t most, bool greedy,
                          std::vector<int32_t> &likeliest,
                          std::vector<float> &logits) {
  const int64_t batch = session.batch, vocabulary = session.vocabulary;
  const int64_t tokenDims[] = {batch, int64_t(most)}, countDims[] = {batch};
  const int64_t logitDims[] = {batch, int64_t(most), vocabulary};
  std::vector<int32_t> tokens(batch * most), counts(batch);
  for (uint32_t i = 0; i < session.batch; ++i) {
    std::copy(rows[i].begin(), rows[i].end(), tokens.begin() + long(i * most));
    counts[i] = int32_t(rows[i].size());
  }
  frit_tensor inputs[] = {
      hostTensor(nullptr, tokens.data(), FRIT_I32, tokenDims, 2),
      hostTensor(nullptr, counts.data(), FRIT_I32, countDims, 1)};
  frit_tensor_info info;
  FRIT_TRY(
      called(frit_module_output(session.verifyModule, greedy ? 1 : 0, &info)));
  frit_tensor output;
  if (greedy) {
    likeliest.resize(batch * most);
    output = hostTensor(info.name, likeliest.data(), FRIT_I32, tokenDims, 2);
  } else {
    logits.resize(batch * most * vocabulary);
    output = hostTensor(info.name, logits.data(), FRIT_F32, logitDims, 3);
  }
  return called(frit_run(session.verify, inputs, 2, &output, 1));
}

void Verification::store(int32_t *tokens, uint32_t *made) const {
  for (uint32_t i = 0; i < session.batch; ++i) {
    made[i] = uint32_t(chosen[i].size());
    std::copy(chosen[i].begin(), chosen[i].end(),
              tokens + size_t(i) * (width + 1));
    if (!logs[i].empty())
      std::copy(logs[i].begin(), logs[i].end(),
                sampling->log_probabilities + size_t(i) * (width + 1));
  }
}

frit_status frit_session_verify(frit_session *session,
                                const frit_sampling *sampling,
                                const int32_t *guesses, const uint32_t *guessed,
                                uint32_t width, int32_t *tokens,
                                uint32_t *made) {
  if (!session || !guessed || !tokens || !made || (!guesses && width))
    return nullArgument("frit_session_verify");
  SessionUse use(*session);
  Status status = use.check();
  Verification call(*session, sampling, guesses, guessed, width);
  if (!status.failed())
    status = call.check();
  if (!status.failed())
    status = call.run();
  if (!status.failed())
    call.store(tokens, made);
  return report(std::move(status));
}

//===----------------------------------------------------------------------===//
// Prompt lookup
//===----------------------------------------------------------------------===//

/// The most tokens at the end of a sequence that are sought before.
static constexpr uint32_t kLongestMatch = 4;

uint32_t frit_lookup(const int32_t *tokens, uint32_t count, int32_t *guesses,
                     uint32_t most) {
  if (!tokens || !guesses || most == 0)
    return 0;
  uint32_t best = 0, from = 0;
  // The latest of the longest matches: [end - same, end) equals the last ones.
  for (uint32_t end = count; end-- > 1 && best < kLongestMatch;) {
    uint32_t same = 0;
    while (same < kLongestMatch && same < end &&
           tokens[end - 1 - same] == tokens[count - 1 - same])
      ++same;
    if (same > best) {
      best = same;
      from = end;
    }
  }
  if (best == 0)
    return 0;
  uint32_t found = std::min(most, count - from);
  std::copy_n(tokens + from, found, guesses);
  return found;
}
