//===- Source.cpp - What a language model with an encoder reads -----------===//

#include "Source.h"
#include "Options.h"
#include "tools/support/Files.h"

using namespace frit::run;
using namespace frit::tools;
using frit::tokenizer::Specials;
using frit::tokenizer::TokenId;
using frit::tokenizer::Tokenizer;

static Fault encoded(frit_status status) {
  return status == FRIT_OK ? Fault() : Fault(frit_last_error());
}

/// Reads a sound's spectrum and gives it to the session.
static Fault giveSound(const std::string &path, frit_session *session) {
  std::vector<Tensor> read;
  if (Fault fault = readTensors(path, read))
    return fault;
  if (read.size() != 1)
    return Fault("'" + path + "' has " + std::to_string(read.size()) +
                 " tensors, and a sound's spectrum is one");
  Tensor &spectrum = read.front();
  if (spectrum.dims.size() == 2)
    spectrum.dims.insert(spectrum.dims.begin(), 1);
  frit_tensor input = {nullptr,
                       spectrum.data.data(),
                       spectrum.dtype,
                       uint32_t(spectrum.dims.size()),
                       spectrum.dims.data(),
                       FRIT_HOST};
  if (Fault fault = encoded(frit_session_encode(session, &input, 1)))
    return fault.within(path);
  return Fault();
}

Fault frit::run::giveSource(const std::string &source,
                            const Tokenizer *tokenizer, frit_session *session) {
  if (source[0] == '@')
    return giveSound(source.substr(1), session);
  std::vector<TokenId> ids;
  if (tokenizer) {
    if (Fault fault = tokenizer->encode(source, Specials::add, ids))
      return fault;
  } else if (!parseTokens(source, ids)) {
    return Fault("a source is @spectrum.npy, tokens as 5,7,9 or, with "
                 "--tokenizer=, a text, not '" +
                 source + "'");
  }
  int32_t count = int32_t(ids.size());
  const int64_t rows[] = {1, count}, one[] = {1};
  frit_tensor inputs[] = {{nullptr, ids.data(), FRIT_I32, 2, rows, FRIT_HOST},
                          {nullptr, &count, FRIT_I32, 1, one, FRIT_HOST}};
  return encoded(frit_session_encode(session, inputs, 2));
}
