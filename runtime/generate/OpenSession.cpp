//===- OpenSession.cpp - Make, copy and describe sessions -----------------===//

#include "runtime/generate/Session.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

using namespace frit;

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
    for (auto [sought, place] :
         {std::pair(FRIT_FUNCTION_PREFILL, &prefillModule),
          std::pair(FRIT_FUNCTION_DECODE, &decodeModule),
          std::pair(FRIT_FUNCTION_VERIFY, &verifyModule),
          std::pair(FRIT_FUNCTION_ENCODE, &encodeModule)})
      if (role == sought && !*place)
        *place = function;
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

Status frit_session::readVerify() {
  frit_tensor_info tokens, counts, logits, likeliest;
  if (frit_module_input_count(verifyModule) == 2 &&
      frit_module_output_count(verifyModule) >= 2) {
    FRIT_TRY(called(frit_module_input(verifyModule, 0, &tokens)));
    FRIT_TRY(called(frit_module_input(verifyModule, 1, &counts)));
    FRIT_TRY(called(frit_module_output(verifyModule, 0, &logits)));
    FRIT_TRY(called(frit_module_output(verifyModule, 1, &likeliest)));
    auto has = [](const frit_tensor_info &info, frit_dtype dtype,
                  std::vector<int64_t> dims) {
      return info.dtype == dtype && info.rank == dims.size() &&
             std::equal(dims.begin(), dims.end(), info.dims);
    };
    if (tokens.rank == 2 && has(tokens, FRIT_I32, {batch, tokens.dims[1]}) &&
        has(counts, FRIT_I32, {batch}) &&
        has(logits, FRIT_F32, {batch, tokens.dims[1], vocabulary}) &&
        has(likeliest, FRIT_I32, {batch, tokens.dims[1]})) {
      verified = uint32_t(tokens.dims[1]);
      return Status();
    }
  }
  return invalidArgument("the tensors of the function of the role verify do "
                         "not fit its role; see frit/roles.h");
}

Status frit_session::open(frit_module *given) {
  module = given;
  FRIT_TRY(findFunctions(given));
  FRIT_TRY(findStates());
  FRIT_TRY(readChunks());
  FRIT_TRY(called(frit_context_create(prefillModule, &prefill)));
  if (decodeModule)
    FRIT_TRY(called(frit_context_create_peer(decodeModule, prefill, &decode)));
  if (verifyModule) {
    FRIT_TRY(readVerify());
    FRIT_TRY(called(frit_context_create_peer(verifyModule, prefill, &verify)));
  }
  if (encodeModule)
    FRIT_TRY(called(frit_context_create_peer(encodeModule, prefill, &encode)));
  sequences.resize(batch);
  logits.resize(size_t(batch) * vocabulary);
  return Status();
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
  to.hasSource = from.hasSource;
  return Status();
}

frit_status frit_session_fork(frit_session *session, frit_session **copy) {
  if (!session || !copy)
    return nullArgument("frit_session_fork");
  SessionUse use(*session);
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

void frit_session_destroy(frit_session *session) {
  // A call of another thread reads the caches until it ends.
  while (session && session->isBusy.exchange(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  delete session;
}

uint32_t frit_session_batch(const frit_session *session) {
  return session ? session->batch : 0;
}
uint32_t frit_session_capacity(const frit_session *session) {
  return session ? session->capacity : 0;
}
uint32_t frit_session_vocabulary(const frit_session *session) {
  return session ? session->vocabulary : 0;
}
uint32_t frit_session_guesses(const frit_session *session) {
  return session && session->verified ? session->verified - 1 : 0;
}
uint32_t frit_session_length(const frit_session *session, uint32_t sequence) {
  return session && sequence < session->batch
             ? session->sequences[sequence].length
             : 0;
}
