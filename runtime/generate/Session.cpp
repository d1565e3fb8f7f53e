//===- Session.cpp - Sequences that a language model extends --------------===//

#include "runtime/generate/Session.h"

using namespace frit;

//===----------------------------------------------------------------------===//
// Extend
//===----------------------------------------------------------------------===//

Status frit_session::extend(const std::vector<int32_t> &tokens, int64_t width,
                            const std::vector<int32_t> &counts) {
  const int64_t tokenDims[] = {batch, width}, countDims[] = {batch};
  const int64_t logitDims[] = {batch, vocabulary};
  frit_tensor inputs[] = {
      hostTensor(nullptr, const_cast<int32_t *>(tokens.data()), FRIT_I32,
                 tokenDims, 2),
      hostTensor(nullptr, const_cast<int32_t *>(counts.data()), FRIT_I32,
                 countDims, 1)};
  std::vector<float> read(logits.size());
  frit_tensor output = hostTensor(nullptr, read.data(), FRIT_F32, logitDims, 2);
  FRIT_TRY(called(frit_run(prefill, inputs, 2, &output, 1)));
  for (uint32_t i = 0; i < batch; ++i)
    if (counts[i]) {
      sequences[i].length += uint32_t(counts[i]);
      sequences[i].next = Next::ready;
      std::copy_n(read.data() + size_t(i) * vocabulary, vocabulary,
                  logitsOf(i));
    }
  return Status();
}

Status frit_session::prefillAll(uint32_t sequence,
                                const std::vector<int32_t> &tokens) {
  Sequence &own = sequences[sequence];
  own.tokens.resize(own.length);
  own.next = Next::none;
  for (size_t done = 0; done < tokens.size();) {
    size_t width = std::min<size_t>(chunk, tokens.size() - done);
    std::vector<int32_t> rows(batch * width), counts(batch);
    std::copy_n(tokens.data() + done, width, rows.begin() + sequence * width);
    counts[sequence] = int32_t(width);
    FRIT_TRY(extend(rows, int64_t(width), counts));
    own.tokens.insert(own.tokens.end(), tokens.begin() + long(done),
                      tokens.begin() + long(done + width));
    done += width;
  }
  return Status();
}

Status frit_session::checkRoom(uint32_t steps) const {
  for (uint32_t i = 0; i < batch; ++i) {
    uint32_t needed = steps - !sequences[i].isAhead();
    if (needed > capacity - sequences[i].length)
      return invalidArgument(
          format("sequence %u has %u tokens, and its cache holds %u: there is "
                 "no room for %u more",
                 i, sequences[i].length, capacity, needed));
  }
  return Status();
}

Status frit_session::appendChosen() {
  std::vector<int32_t> tokens(batch), counts(batch);
  for (uint32_t i = 0; i < batch; ++i)
    if (sequences[i].isAhead()) {
      tokens[i] = sequences[i].tokens.back();
      counts[i] = 1;
    }
  return extend(tokens, 1, counts);
}

Status frit_session::decodeOnDevice(int32_t *to, uint32_t count) {
  // Without a function of its own, prefill appends each token.
  if (!decode)
    return decodeByLogits(frit_sampling(), to, count);
  if (!all(Next::chosen) && !all(Next::ready))
    FRIT_TRY(appendChosen());
  uint32_t steps = all(Next::ready) ? count - 1 : count;
  for (uint32_t i = 0; i < steps; ++i)
    FRIT_TRY(called(frit_run_async(decode, nullptr, 0, nullptr, 0)));
  const int64_t dims[] = {batch, int64_t(capacity) + 1};
  std::vector<int32_t> rows(size_t(batch) * (capacity + 1));
  frit_tensor tokens = hostTensor(tokensName, rows.data(), FRIT_I32, dims, 2);
  FRIT_TRY(called(frit_state_read(prefill, &tokens, 1)));
  for (uint32_t i = 0; i < batch; ++i) {
    Sequence &own = sequences[i];
    own.length += steps;
    const int32_t *first = rows.data() + size_t(i) * (capacity + 1);
    own.tokens.assign(first, first + own.length + 1);
    own.next = Next::chosen;
    std::copy_n(first + own.length + 1 - count, count, to + size_t(i) * count);
  }
  return checkTokens(count);
}

Status frit_session::checkTokens(uint32_t count) {
  Status failed;
  for (uint32_t i = 0; i < batch; ++i) {
    Sequence &own = sequences[i];
    size_t end = own.tokens.size(), place = end - std::min<size_t>(end, count);
    while (place < end && uint32_t(own.tokens[place]) < vocabulary)
      ++place;
    if (place == end)
      continue;
    own.tokens.resize(place);
    own.length = uint32_t(place);
    own.next = Next::none;
    FRIT_TRY(writeLengths());
    failed = Status(FRIT_INVALID_ARGUMENT,
                    format("no token may follow the %u of sequence %u: logits "
                           "are NaN",
                           own.length, i));
  }
  return failed;
}

Status frit_session::decodeByLogits(const frit_sampling &sampling, int32_t *to,
                                    uint32_t count) {
  std::vector<float> changed(vocabulary);
  for (uint32_t step = 0; step < count; ++step) {
    if (!all(Next::ready))
      FRIT_TRY(appendChosen());
    for (uint32_t i = 0; i < batch; ++i) {
      Sequence &own = sequences[i];
      own.tokens.resize(own.length);
      std::copy_n(logitsOf(i), vocabulary, changed.data());
      int32_t token = 0;
      FRIT_TRY(called(frit_sample(&sampling, changed.data(), vocabulary,
                                  own.tokens.data(), own.length, &token)));
      own.tokens.push_back(token);
      own.next = Next::ownToken;
      to[size_t(i) * count + step] = token;
      if (sampling.log_probabilities)
        sampling.log_probabilities[size_t(i) * count + step] =
            logProbability(logitsOf(i), vocabulary, token);
    }
  }
  return Status();
}

Status frit_session::checkBegun() const {
  for (uint32_t i = 0; i < batch; ++i)
    if (sequences[i].next == Next::none)
      return invalidArgument(
          format("sequence %u has no token to continue from; "
                 "frit_session_prefill gives it one",
                 i));
    else if (sequences[i].next == Next::ready)
      FRIT_TRY(checkLogits(logitsOf(i), vocabulary));
  return Status();
}

Status frit_session::writeLengths() {
  std::vector<int32_t> lengths;
  for (const Sequence &sequence : sequences)
    lengths.push_back(int32_t(sequence.length));
  const int64_t dims[] = {batch};
  frit_tensor tensor =
      hostTensor(lengthName, lengths.data(), FRIT_I32, dims, 1);
  return called(frit_state_write(prefill, &tensor, 1));
}

Status frit_session::writeSequences() {
  std::vector<int32_t> rows(size_t(batch) * (capacity + 1));
  for (uint32_t i = 0; i < batch; ++i)
    std::copy(sequences[i].tokens.begin(), sequences[i].tokens.end(),
              rows.begin() + size_t(i) * (capacity + 1));
  const int64_t dims[] = {batch, int64_t(capacity) + 1};
  frit_tensor tensor = hostTensor(tokensName, rows.data(), FRIT_I32, dims, 2);
  FRIT_TRY(called(frit_state_write(prefill, &tensor, 1)));
  return writeLengths();
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

/// Returns the failure of a call for a sequence that is not there.
static Status checkSequence(const frit_session &session, uint32_t sequence) {
  if (sequence < session.batch)
    return Status();
  return invalidArgument(format("there is no sequence %u: the session has %u",
                                sequence, session.batch));
}

static Status prefillChecked(frit_session &session, uint32_t sequence,
                             const int32_t *tokens, uint32_t count,
                             float *logits) {
  FRIT_TRY(checkSequence(session, sequence));
  if (count == 0)
    return invalidArgument("there are no tokens to append");
  if (session.encode && !session.hasSource)
    return invalidArgument(format("model '%s' continues a source, which "
                                  "frit_session_encode, or --source of "
                                  "frit-run, gives it first",
                                  frit_module_name(session.prefillModule)));
  const Sequence &own = session.sequences[sequence];
  // Before the tokens are read, which may be more than memory holds.
  if (uint64_t(count) + own.isAhead() > session.capacity - own.length)
    return invalidArgument(
        format("%u tokens do not fit after the %u of sequence %u: its cache "
               "holds %u",
               count, own.length, sequence, session.capacity));
  std::vector<int32_t> all;
  if (own.isAhead())
    all.push_back(own.tokens.back());
  all.insert(all.end(), tokens, tokens + count);
  for (uint32_t i = 0; i < count; ++i)
    if (uint32_t(tokens[i]) >= session.vocabulary)
      return invalidArgument(
          format("token %d at [%u] is not in the vocabulary, 0 to %u",
                 tokens[i], i, session.vocabulary - 1));
  FRIT_TRY(session.prefillAll(sequence, all));
  if (logits)
    std::copy_n(session.logitsOf(sequence), session.vocabulary, logits);
  return Status();
}

frit_status frit_session_prefill(frit_session *session, uint32_t sequence,
                                 const int32_t *tokens, uint32_t count,
                                 float *logits) {
  if (!session || (!tokens && count))
    return nullArgument("frit_session_prefill");
  SessionUse use(*session);
  Status status = use.check();
  if (!status.failed())
    status = prefillChecked(*session, sequence, tokens, count, logits);
  return report(std::move(status));
}

static Status decodeChecked(frit_session &session,
                            const frit_sampling *sampling, int32_t *tokens,
                            uint32_t count) {
  if (sampling)
    FRIT_TRY(checkSampling(*sampling));
  FRIT_TRY(session.checkBegun());
  FRIT_TRY(session.checkRoom(count));
  if (isGreedy(sampling))
    return session.decodeOnDevice(tokens, count);
  return session.decodeByLogits(*sampling, tokens, count);
}

frit_status frit_session_decode(frit_session *session,
                                const frit_sampling *sampling, int32_t *tokens,
                                uint32_t count) {
  if (!session || (!tokens && count))
    return nullArgument("frit_session_decode");
  SessionUse use(*session);
  Status status = use.check();
  if (!status.failed() && count)
    status = decodeChecked(*session, sampling, tokens, count);
  return report(std::move(status));
}

static Status rewindChecked(frit_session &session, uint32_t sequence,
                            uint32_t length) {
  FRIT_TRY(checkSequence(session, sequence));
  Sequence &own = session.sequences[sequence];
  if (length > own.length)
    return invalidArgument(
        format("sequence %u has %u tokens and cannot be rewound to %u",
               sequence, own.length, length));
  uint32_t before = own.length;
  own.length = length;
  if (Status status = session.writeLengths(); status.failed()) {
    own.length = before;
    return status;
  }
  own.tokens.resize(length);
  own.next = Next::none;
  return Status();
}

frit_status frit_session_rewind(frit_session *session, uint32_t sequence,
                                uint32_t length) {
  if (!session)
    return nullArgument("frit_session_rewind");
  SessionUse use(*session);
  Status status = use.check();
  if (!status.failed())
    status = rewindChecked(*session, sequence, length);
  return report(std::move(status));
}

/// Runs the encoder, and makes all sequences new.
static Status encodeChecked(frit_session &session, const frit_tensor *inputs,
                            uint32_t count) {
  if (!session.encode)
    return invalidArgument(format("model '%s' has no function of the role "
                                  "encode: it continues tokens alone",
                                  frit_module_name(session.prefillModule)));
  uint32_t takes = frit_module_input_count(session.encodeModule);
  if (count != takes)
    return invalidArgument(format(
        "model '%s' reads %s, not %s", frit_module_name(session.prefillModule),
        takes == 1 ? "a sound's spectrum" : "tokens and their number",
        count == 1 ? "one tensor" : "tokens"));
  FRIT_TRY(called(frit_run(session.encode, inputs, count, nullptr, 0)));
  for (Sequence &own : session.sequences) {
    own.length = 0;
    own.tokens.clear();
    own.next = Next::none;
  }
  session.hasSource = true;
  return session.writeLengths();
}

frit_status frit_session_encode(frit_session *session,
                                const frit_tensor *inputs, uint32_t count) {
  if (!session || (!inputs && count))
    return nullArgument("frit_session_encode");
  SessionUse use(*session);
  Status status = use.check();
  if (!status.failed())
    status = encodeChecked(*session, inputs, count);
  return report(std::move(status));
}
