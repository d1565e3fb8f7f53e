//===- Speculation.cpp - Guesses of a language model's next tokens --------===//

#include "Speculation.h"

#include <algorithm>

using namespace frit::run;

Fault Speculation::open(const Options &options, frit_session *model) {
  if (options.speculate.empty() && options.draft.empty())
    return Fault();
  uint32_t takes = frit_session_guesses(model);
  if (!takes)
    return Fault("'" + options.model +
                 "' has no function that checks guesses; fritc --verify=8 "
                 "makes one");
  most = options.guesses ? uint32_t(options.guesses) : takes;
  if (most > takes)
    return Fault("the model checks " + std::to_string(takes) +
                 " guesses at a time, not " + std::to_string(most) +
                 "; fritc --verify=" + std::to_string(most + 1) +
                 " compiles it for that");
  if (options.draft.empty())
    return Fault();
  frit_module_options settings = moduleOptions(options);
  if (Error error = Module::load(options.draft.c_str(), draftModule, &settings))
    return Fault(error.message());
  frit_session *made = nullptr;
  if (Fault fault = called(frit_session_create(draftModule.get(), &made)))
    return fault;
  draft.reset(made);
  if (frit_session_batch(made) != 1)
    return Fault("'" + options.draft + "' is compiled for " +
                 std::to_string(frit_session_batch(made)) +
                 " sequences at a time, and a draft is for one");
  if (frit_session_vocabulary(made) != frit_session_vocabulary(model))
    return Fault("'" + options.draft + "' knows " +
                 std::to_string(frit_session_vocabulary(made)) +
                 " tokens, and the model " +
                 std::to_string(frit_session_vocabulary(model)) +
                 ": a draft has the same tokens");
  return Fault();
}

Fault Speculation::guess(const std::vector<int32_t> &sequence, uint32_t count,
                         std::vector<int32_t> &guesses) {
  guesses.resize(count);
  if (!draft) {
    guesses.resize(frit_lookup(sequence.data(), uint32_t(sequence.size()),
                               guesses.data(), count));
    return Fault();
  }
  uint32_t capacity = frit_session_capacity(draft.get());
  // The last guess needs no room.
  count = sequence.size() > capacity
              ? 0
              : uint32_t(std::min<uint64_t>(count, uint64_t(capacity) + 1 -
                                                       sequence.size()));
  guesses.resize(count);
  if (count == 0)
    return Fault();
  auto [own, rest] = std::ranges::mismatch(known, sequence);
  size_t same =
      std::min<size_t>({size_t(own - known.begin()), sequence.size() - 1,
                        frit_session_length(draft.get(), 0)});
  known.clear();
  if (Fault fault = called(frit_session_rewind(draft.get(), 0, uint32_t(same))))
    return fault;
  if (Fault fault = called(
          frit_session_prefill(draft.get(), 0, sequence.data() + same,
                               uint32_t(sequence.size() - same), nullptr)))
    return fault;
  if (Fault fault = called(
          frit_session_decode(draft.get(), nullptr, guesses.data(), count)))
    return fault;
  known = sequence;
  known.insert(known.end(), guesses.begin(), guesses.end() - 1);
  return Fault();
}

Fault Speculation::extend(frit_session *model, const frit_sampling &sampling,
                          const std::vector<int32_t> &sequence, uint64_t left,
                          std::vector<int32_t> &tokens) {
  std::vector<int32_t> guesses;
  uint32_t count = uint32_t(std::min<uint64_t>(most, left - 1));
  if (count > 0)
    if (Fault fault = guess(sequence, count, guesses))
      return fault;
  count = uint32_t(guesses.size());
  uint32_t made = 0;
  tokens.resize(count + 1);
  if (Fault fault =
          called(frit_session_verify(model, &sampling, guesses.data(), &count,
                                     count, tokens.data(), &made)))
    return fault;
  tokens.resize(made);
  guessed += count;
  right += made - 1;
  return Fault();
}
