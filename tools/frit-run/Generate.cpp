//===- Generate.cpp - Continue texts by a language model ------------------===//

#include "frit/generate.h"
#include "Adapter.h"
#include "ChosenSampling.h"
#include "Perplexity.h"
#include "Session.h"
#include "Source.h"
#include "Speculation.h"
#include "tools/support/JsonText.h"
#include "tools/support/Mapped.h"
#include "tools/tokenizer/Chat.h"
#include "tools/tokenizer/Tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

using namespace frit::run;
using frit::tokenizer::Specials;
using frit::tokenizer::TextStream;
using frit::tokenizer::TokenId;
using frit::tokenizer::Tokenizer;
using Json = nlohmann::ordered_json;

/// Tokens that the device chooses before the host looks at them.
static constexpr uint32_t kAhead = 8;

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

namespace {
/// A conversation with a model.
class Generation {
public:
  explicit Generation(Session &session)
      : session(session), options(session.options) {}

  Fault open();
  /// Continues the prompt of the options, or replies to it.
  Fault runPrompt();
  /// Replies to lines of the standard input.
  Fault runChat();
  /// Returns whether a line was reported and left out.
  bool hasBadLine = false;

private:
  Fault encode(const std::string &text, std::vector<TokenId> &ids);
  /// Makes the sequence `ids`, of which it may have the first ones already.
  Fault feed(const std::vector<TokenId> &ids);
  /// Shows what follows. Sets `reply` to it.
  Fault extend(std::string &reply);
  Fault show(TokenId token, TextStream &stream, std::string &reply);
  Fault reply(std::vector<frit::tokenizer::Message> &messages,
              std::string &text);
  Fault measure(const std::vector<TokenId> &ids);
  void report() const;
  bool isEnd(TokenId token) const {
    return hasTokenizer && std::ranges::count(tokenizer.ends(), token);
  }

  Session &session;
  const Options &options;
  Tokenizer tokenizer;
  bool hasTokenizer = false;
  SessionHandle model;
  Speculation speculation;
  frit_sampling sampling = {};
  std::vector<TokenId> sequence; ///< tokens in the caches
  std::vector<TokenId> made;
  size_t fed = 0;
  double feeding = 0, making = 0; ///< seconds
};
} // namespace

Fault Generation::open() {
  if (Fault fault = chooseSampling(options, sampling))
    return fault;
  if (!options.tokenizer.empty()) {
    if (Fault fault = Tokenizer::load(options.tokenizer, tokenizer))
      return fault;
    hasTokenizer = true;
  }
  if (options.chat) {
    frit::tokenizer::Chat chat;
    if (Fault fault = frit::tokenizer::Chat::read(tokenizer, chat))
      return fault;
  }
  frit_session *made = nullptr;
  if (Fault fault = called(frit_session_create(session.module.get(), &made)))
    return fault;
  model.reset(made);
  if (frit_session_batch(made) != 1)
    return Fault("the model is compiled for " +
                 std::to_string(frit_session_batch(made)) +
                 " sequences at a time, and a prompt is one; fritc --batch=1 "
                 "compiles it for that");
  if (hasTokenizer && tokenizer.size() > frit_session_vocabulary(made))
    return Fault("'" + options.tokenizer + "' has " +
                 std::to_string(tokenizer.size()) +
                 " tokens, and the model knows " +
                 std::to_string(frit_session_vocabulary(made)) +
                 ": it is the tokenizer of another model");
  if (!options.lora.empty())
    if (Fault fault = loadAdapter(options.lora, made))
      return fault;
  if (!options.source.empty())
    if (Fault fault = giveSource(options.source,
                                 hasTokenizer ? &tokenizer : nullptr, made))
      return fault;
  return speculation.open(options, made);
}

Fault Generation::encode(const std::string &text, std::vector<TokenId> &ids) {
  return tokenizer.encode(text, options.chat ? Specials::omit : Specials::add,
                          ids);
}

Fault Generation::feed(const std::vector<TokenId> &ids) {
  if (ids.empty())
    return Fault("the prompt has no tokens");
  auto [known, rest] = std::ranges::mismatch(sequence, ids);
  // The last token is fed again, if need be, for the logits after it.
  size_t same =
      std::min<size_t>({size_t(known - sequence.begin()), ids.size() - 1,
                        frit_session_length(model.get(), 0)});
  double start = now();
  if (Fault fault = called(frit_session_rewind(model.get(), 0, uint32_t(same))))
    return fault;
  sequence.assign(ids.begin(), ids.begin() + long(same));
  if (Fault fault =
          called(frit_session_prefill(model.get(), 0, ids.data() + same,
                                      uint32_t(ids.size() - same), nullptr)))
    return fault;
  sequence = ids;
  fed += ids.size() - same;
  feeding += now() - start;
  return Fault();
}

Fault Generation::show(TokenId token, TextStream &stream, std::string &reply) {
  made.push_back(token);
  std::string text;
  if (!hasTokenizer)
    text = (made.size() > 1 ? " " : "") + std::to_string(token);
  else if (Fault fault = stream.push(token, text))
    return fault;
  reply += text;
  if (!options.json) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  return Fault();
}

Fault Generation::extend(std::string &reply) {
  bool isGreedy =
      sampling.temperature == 0 &&
      (sampling.repetition_penalty == 0 || sampling.repetition_penalty == 1);
  TextStream stream(tokenizer);
  uint64_t left = std::min<uint64_t>(
      options.maxTokens, frit_session_capacity(model.get()) -
                             frit_session_length(model.get(), 0) + 1);
  bool isFull = left < options.maxTokens, ended = false;
  uint32_t ahead = 1; // the first token is shown at once
  double start = now();
  while (left > 0 && !ended) {
    uint32_t count = uint32_t(std::min<uint64_t>(ahead, left));
    std::vector<int32_t> tokens(count);
    if (Fault fault = speculation.isOn()
                          ? speculation.extend(model.get(), sampling, sequence,
                                               left, tokens)
                          : called(frit_session_decode(model.get(), &sampling,
                                                       tokens.data(), count)))
      return fault;
    count = uint32_t(tokens.size());
    for (uint32_t i = 0; i < count && !ended; ++i) {
      ended = isEnd(tokens[i]);
      if (ended)
        break;
      sequence.push_back(tokens[i]);
      if (Fault fault = show(tokens[i], stream, reply))
        return fault;
    }
    left -= count;
    ahead = isGreedy ? kAhead : 1;
  }
  making += now() - start;
  std::string rest;
  if (hasTokenizer)
    if (Fault fault = stream.finish(rest))
      return fault;
  reply += rest;
  if (!options.json)
    std::printf("%s\n", rest.c_str());
  if (!ended && isFull)
    complain("note: the caches are full; fritc --context compiles the model "
             "for more tokens");
  return Fault();
}

void Generation::report() const {
  std::fprintf(stderr,
               "%zu tokens read in %.1f ms (%.0f a second), %zu made in %.1f "
               "ms (%.1f a second)\n",
               fed, feeding * 1e3, double(fed) / feeding, made.size(),
               making * 1e3, double(made.size()) / making);
  if (speculation.isOn())
    std::fprintf(stderr, "%llu of %llu guesses were right\n",
                 (unsigned long long)speculation.right,
                 (unsigned long long)speculation.guessed);
}

Fault Generation::reply(std::vector<frit::tokenizer::Message> &messages,
                        std::string &text) {
  frit::tokenizer::Chat chat;
  if (Fault fault = frit::tokenizer::Chat::read(tokenizer, chat))
    return fault;
  std::string whole;
  if (Fault fault = chat.write(messages, whole))
    return fault;
  std::vector<TokenId> ids;
  if (Fault fault = encode(whole, ids))
    return fault;
  if (Fault fault = feed(ids))
    return fault;
  if (Fault fault = extend(text))
    return fault;
  messages.push_back({"assistant", text});
  return Fault();
}

Fault Generation::measure(const std::vector<TokenId> &ids) {
  if (ids.size() < 2)
    return Fault("a text of " + std::to_string(ids.size()) +
                 " tokens has none that others foresee");
  Perplexity result;
  if (Fault fault = called(measurePerplexity(
          model.get(), std::vector<int32_t>(ids.begin(), ids.end()), result)))
    return fault;
  if (options.json)
    std::printf("%s\n", jsonText(Json{{"perplexity", result.value()},
                                      {"loss", result.loss},
                                      {"tokens", result.tokens},
                                      {"window", result.window}})
                            .c_str());
  else
    std::printf("perplexity %.4f (loss %.5f) of %zu tokens in windows of %zu\n",
                result.value(), result.loss, result.tokens, result.window);
  return Fault();
}

Fault Generation::runPrompt() {
  std::vector<TokenId> ids(options.tokens.begin(), options.tokens.end());
  std::string text = options.prompt, made;
  if (!text.empty() && text[0] == '@') {
    Bytes bytes;
    std::shared_ptr<const void> owner;
    if (Fault fault = mapFile(options.prompt.substr(1), bytes, owner))
      return fault;
    text.assign(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }
  if (options.chat) {
    std::vector<frit::tokenizer::Message> messages = {{"user", text}};
    if (Fault fault = reply(messages, made))
      return fault;
  } else {
    if (hasTokenizer && ids.empty())
      if (Fault fault = encode(text, ids))
        return fault;
    if (options.perplexity)
      return measure(ids);
    if (Fault fault = feed(ids))
      return fault;
    if (Fault fault = extend(made))
      return fault;
  }
  if (options.json) {
    Json json = {{"tokens", this->made},
                 {"read_tokens", fed},
                 {"read_milliseconds", feeding * 1e3},
                 {"made_milliseconds", making * 1e3}};
    if (hasTokenizer)
      json["text"] = made;
    if (speculation.isOn()) {
      json["guesses"] = speculation.guessed;
      json["right_guesses"] = speculation.right;
    }
    std::printf("%s\n", jsonText(json).c_str());
  }
  if (options.verbose)
    report();
  return Fault();
}

Fault Generation::runChat() {
  std::vector<frit::tokenizer::Message> messages;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty())
      continue;
    messages.push_back({"user", line});
    std::string text;
    Fault fault = reply(messages, text);
    if (fault && fault.status() != kBadInput)
      return fault;
    if (fault) {
      // The conversation goes on without a line that cannot be replied to.
      complain(fault.message());
      messages.pop_back();
      hasBadLine = true;
    }
  }
  if (std::ferror(stdin)) // std::cin reads it
    return Fault("cannot read the standard input");
  if (options.verbose)
    report();
  return Fault();
}

int frit::run::generate(Session &session) {
  Generation generation(session);
  Fault fault = generation.open();
  if (!fault)
    fault = session.options.prompt.empty() && session.options.tokens.empty()
                ? generation.runChat()
                : generation.runPrompt();
  if (!fault)
    return generation.hasBadLine ? kBadInput : kDone;
  complain(fault.message());
  return fault.status();
}
