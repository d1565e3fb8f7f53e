//===- Session.cpp - Sequences that a language model extends --------------===//

#include "frit/generate.h"
#include "runtime/exec/Api.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

using namespace frit;

namespace {
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
} // namespace

struct frit_session {
  ~frit_session() {
    for (frit_context *context : {decode, prefill})
      frit_context_destroy(context);
    for (frit_module *function : opened)
      frit_module_close(function);
  }

  Status open(frit_module *given);
  Status findFunctions(frit_module *given);
  Status findStates();
  Status readChunks();
  /// Calls prefill for `counts[i]` tokens of each sequence, of which `tokens`
  /// has room for the most, and reads the logits of those that have any.
  Status extend(const std::vector<int32_t> &tokens, int64_t width,
                const std::vector<int32_t> &counts);
  Status prefillAll(uint32_t sequence, const std::vector<int32_t> &tokens);
  Status decodeOnDevice(int32_t *to, uint32_t count);
  Status decodeByLogits(const frit_sampling &sampling, int32_t *to,
                        uint32_t count);
  /// Appends the tokens that the caller has, so that all sequences are ready.
  Status appendChosen();
  bool all(Next next) const {
    return std::all_of(sequences.begin(), sequences.end(),
                       [&](const Sequence &own) { return own.next == next; });
  }
  Status checkRoom(uint32_t steps) const;
  Status writeLengths();
  float *logitsOf(uint32_t sequence) {
    return logits.data() + size_t(sequence) * vocabulary;
  }

  frit_module *module = nullptr;
  std::vector<frit_module *> opened;
  frit_module *prefillModule = nullptr, *decodeModule = nullptr;
  frit_context *prefill = nullptr, *decode = nullptr;
  uint32_t batch = 0, capacity = 0, vocabulary = 0, chunk = 0;
  const char *lengthName = nullptr, *tokensName = nullptr;
  std::vector<Sequence> sequences;
  std::vector<float> logits; ///< batch × vocabulary
  std::atomic<bool> isBusy = false;
};

namespace {
/// Holds a session for one call.
class Use {
public:
  explicit Use(frit_session &session)
      : session(session), isMine(!session.isBusy.exchange(true)) {}
  ~Use() {
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
} // namespace

/// Returns the failure of a call of the C interface.
static Status called(frit_status status) {
  return status == FRIT_OK ? Status() : Status(status, frit_last_error());
}

static frit_tensor hostTensor(const char *name, void *data, frit_dtype dtype,
                              const int64_t *dims, uint32_t rank) {
  return {name, data, dtype, rank, dims, FRIT_HOST};
}

//===----------------------------------------------------------------------===//
// Open
//===----------------------------------------------------------------------===//

Status frit_session::findFunctions(frit_module *given) {
  uint32_t count = frit_module_function_count(given);
  for (uint32_t i = 0; i < count; ++i) {
    frit_module *function = nullptr;
    FRIT_TRY(called(frit_module_open_function(
        given, frit_module_function_name(given, i), &function)));
    opened.push_back(function);
    frit_function_role role = frit_module_role(function);
    frit_module *&place =
        role == FRIT_FUNCTION_DECODE ? decodeModule : prefillModule;
    if ((role == FRIT_FUNCTION_DECODE || role == FRIT_FUNCTION_PREFILL) &&
        !place)
      place = function;
  }
  if (!prefillModule)
    return invalidArgument(format("model '%s' has no function of the role "
                                  "prefill; fritc makes one of a folder or a "
                                  "file of a language model",
                                  frit_module_name(given)));
  return Status();
}

Status frit_session::findStates() {
  uint32_t count = frit_module_state_count(prefillModule);
  for (uint32_t i = 0; i < count; ++i) {
    frit_tensor_info info;
    FRIT_TRY(called(frit_module_state(prefillModule, i, &info)));
    frit_state_role role = frit_module_state_role(prefillModule, i);
    if (role == FRIT_STATE_LENGTH && info.dtype == FRIT_I32 && info.rank == 1) {
      lengthName = info.name;
      batch = uint32_t(info.dims[0]);
    }
    if (role == FRIT_STATE_TOKENS && info.dtype == FRIT_I32 && info.rank == 2 &&
        info.dims[1] > 1) {
      tokensName = info.name;
      capacity = uint32_t(info.dims[1] - 1);
    }
  }
  if (!lengthName || !tokensName)
    return invalidArgument(format("model '%s' has no state of the role %s",
                                  frit_module_name(prefillModule),
                                  lengthName ? "tokens" : "length"));
  return Status();
}

Status frit_session::readChunks() {
  frit_tensor_info tokens, counts, result;
  if (frit_module_input_count(prefillModule) != 2 ||
      frit_module_output_count(prefillModule) < 1)
    return invalidArgument("a function of the role prefill takes tokens and "
                           "their number, and returns logits");
  FRIT_TRY(called(frit_module_input(prefillModule, 0, &tokens)));
  FRIT_TRY(called(frit_module_input(prefillModule, 1, &counts)));
  FRIT_TRY(called(frit_module_output(prefillModule, 0, &result)));
  if (tokens.rank != 2 || tokens.dtype != FRIT_I32 ||
      tokens.dims[0] != int64_t(batch) || counts.rank != 1 ||
      counts.dtype != FRIT_I32 || counts.dims[0] != int64_t(batch) ||
      result.rank != 2 || result.dtype != FRIT_F32 ||
      result.dims[0] != int64_t(batch))
    return invalidArgument("the tensors of the function of the role prefill "
                           "do not fit its role; see frit/roles.h");
  chunk = uint32_t(tokens.dims[1]);
  vocabulary = uint32_t(result.dims[1]);
  return Status();
}

Status frit_session::open(frit_module *given) {
  module = given;
  FRIT_TRY(findFunctions(given));
  FRIT_TRY(findStates());
  FRIT_TRY(readChunks());
  FRIT_TRY(called(frit_context_create(prefillModule, &prefill)));
  if (decodeModule)
    FRIT_TRY(called(frit_context_create_peer(decodeModule, prefill, &decode)));
  sequences.resize(batch);
  logits.resize(size_t(batch) * vocabulary);
  return Status();
}

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
  return Status();
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
    }
  }
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

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

frit_status frit_session_create(frit_module *module, frit_session **session) {
  if (!module || !session)
    return nullArgument("frit_session_create");
  auto made = std::make_unique<frit_session>();
  if (Status status = made->open(module); status.failed())
    return report(std::move(status));
  *session = made.release();
  return FRIT_OK;
}

/// Copies all states of a session to another one of the same module.
static Status copyStates(frit_session &from, frit_session &to) {
  uint32_t count = frit_module_state_count(from.prefillModule);
  for (uint32_t i = 0; i < count; ++i) {
    frit_tensor_info info;
    FRIT_TRY(called(frit_module_state(from.prefillModule, i, &info)));
    std::vector<char> bytes(info.bytes);
    frit_tensor tensor =
        hostTensor(info.name, bytes.data(), info.dtype, info.dims, info.rank);
    FRIT_TRY(called(frit_state_read(from.prefill, &tensor, 1)));
    FRIT_TRY(called(frit_state_write(to.prefill, &tensor, 1)));
  }
  to.sequences = from.sequences;
  to.logits = from.logits;
  return Status();
}

frit_status frit_session_fork(frit_session *session, frit_session **copy) {
  if (!session || !copy)
    return nullArgument("frit_session_fork");
  Use use(*session);
  auto made = std::make_unique<frit_session>();
  Status status = use.check();
  if (!status.failed())
    status = made->open(session->module);
  if (!status.failed())
    status = copyStates(*session, *made);
  if (status.failed())
    return report(std::move(status));
  *copy = made.release();
  return FRIT_OK;
}

void frit_session_destroy(frit_session *session) { delete session; }

uint32_t frit_session_batch(const frit_session *session) {
  return session ? session->batch : 0;
}
uint32_t frit_session_capacity(const frit_session *session) {
  return session ? session->capacity : 0;
}
uint32_t frit_session_vocabulary(const frit_session *session) {
  return session ? session->vocabulary : 0;
}
uint32_t frit_session_length(const frit_session *session, uint32_t sequence) {
  return session && sequence < session->batch
             ? session->sequences[sequence].length
             : 0;
}

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
  const Sequence &own = session.sequences[sequence];
  std::vector<int32_t> all;
  if (own.isAhead())
    all.push_back(own.tokens.back());
  all.insert(all.end(), tokens, tokens + count);
  if (all.size() > session.capacity - own.length)
    return invalidArgument(
        format("%u tokens do not fit after the %u of sequence %u: its cache "
               "holds %u",
               count, own.length, sequence, session.capacity));
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
  Use use(*session);
  Status status = use.check();
  if (!status.failed())
    status = prefillChecked(*session, sequence, tokens, count, logits);
  return report(std::move(status));
}

static Status decodeChecked(frit_session &session,
                            const frit_sampling *sampling, int32_t *tokens,
                            uint32_t count) {
  for (uint32_t i = 0; i < session.batch; ++i)
    if (session.sequences[i].next == Next::none)
      return invalidArgument(
          format("sequence %u has no token to continue from; "
                 "frit_session_prefill gives it one",
                 i));
  FRIT_TRY(session.checkRoom(count));
  bool isGreedy = !sampling || (sampling->temperature == 0 && !sampling->bias &&
                                (sampling->repetition_penalty == 0 ||
                                 sampling->repetition_penalty == 1));
  if (isGreedy)
    return session.decodeOnDevice(tokens, count);
  return session.decodeByLogits(*sampling, tokens, count);
}

frit_status frit_session_decode(frit_session *session,
                                const frit_sampling *sampling, int32_t *tokens,
                                uint32_t count) {
  if (!session || (!tokens && count))
    return nullArgument("frit_session_decode");
  Use use(*session);
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
  Use use(*session);
  Status status = use.check();
  if (!status.failed())
    status = rewindChecked(*session, sequence, length);
  return report(std::move(status));
}
