//===- main.cpp - frit-tokenize: text to tokens and back ------------------===//

#include "compiler/support/Interrupts.h"
#include "compiler/support/Stack.h"
#include "tools/frit-tokenize/Options.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Mapped.h"
#include "tools/support/Message.h"
#include "tools/tokenizer/Chat.h"

#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace frit::tokenize;
using namespace frit::tokenizer;
using namespace frit::tools;
using Json = nlohmann::json;

static void print(std::string_view text) {
  fwrite(text.data(), 1, text.size(), stdout);
}

static Fault parseIds(std::string_view line, std::vector<TokenId> &ids) {
  const char *at = line.data(), *end = at + line.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r'))
      ++at;
    if (at == end)
      return {};
    auto [next, error] = std::from_chars(at, end, ids.emplace_back());
    if (error != std::errc() || ids.back() < 0 ||
        (next != end && *next != ' ' && *next != '\t' && *next != '\r'))
      return Fault("'" + std::string(at, std::find(at, end, ' ')) +
                   "' is no id");
    at = next;
  }
}

static Fault decodeIds(const Tokenizer &tokenizer, const Options &options,
                       const std::vector<TokenId> &ids, std::string &text) {
  Shown shown = options.hasSpecials ? Shown::text : Shown::everything;
  if (!options.streams)
    return tokenizer.decode(ids, shown, text);
  TextStream stream(tokenizer, shown);
  for (TokenId id : ids)
    if (Fault fault = stream.push(id, text))
      return fault;
  return stream.finish(text);
}

static Fault decodeLine(const Tokenizer &tokenizer, const Options &options,
                        const std::string &line) {
  std::vector<TokenId> ids;
  std::string text;
  if (Fault fault = parseIds(line, ids))
    return fault;
  if (Fault fault = decodeIds(tokenizer, options, ids, text))
    return fault;
  print(options.isJson ? Json(text).dump() : text);
  print("\n");
  return {};
}

static Fault writeChat(const Tokenizer &tokenizer, std::string &line) {
  Chat chat;
  if (Fault fault = Chat::read(tokenizer, chat))
    return fault;
  std::string json = std::move(line);
  return chat.write(json, line);
}

static Fault encodeLine(const Tokenizer &tokenizer, const Options &options,
                        std::string line) {
  if (options.isChat) {
    if (Fault fault = writeChat(tokenizer, line))
      return fault;
  } else if (options.isJson) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_string())
      return Fault("it is no JSON string");
    line = json.get<std::string>();
  }
  std::vector<TokenId> ids;
  if (Fault fault = tokenizer.encode(line,
                                     options.hasSpecials && !options.isChat
                                         ? Specials::add
                                         : Specials::omit,
                                     ids))
    return fault;
  std::string text;
  for (TokenId id : ids)
    (text += text.empty() ? "" : " ") += std::to_string(id);
  print(text + "\n");
  return {};
}

static void printInfo(const Tokenizer &tokenizer) {
  auto describe = [&](TokenId id) {
    const std::string *text = tokenizer.textOf(id);
    return std::to_string(id) + (text ? " " + *text : "");
  };
  std::string text = "tokens  " + std::to_string(tokenizer.size()) + "\n";
  if (auto id = tokenizer.begin())
    text += "begin   " + describe(*id) + "\n";
  for (TokenId id : tokenizer.ends())
    text += "end     " + describe(id) + "\n";
  if (!tokenizer.chatTemplate().empty())
    text += "chat    " +
            Json(tokenizer.chatTemplate())
                .dump(-1, ' ', false, Json::error_handler_t::replace) +
            "\n";
  print(text);
}

static int runTool(int count, char **arguments) {
  Options options;
  if (Parsed parsed = parseOptions(count, arguments, options);
      parsed != Parsed::run)
    return statusOf(parsed);
  Tokenizer tokenizer;
  if (Fault fault = Tokenizer::load(options.tokenizer, tokenizer))
    return report(fault);
  if (options.showsInfo) {
    printInfo(tokenizer);
    return kDone;
  }
  std::ios::sync_with_stdio(false);
  std::string line;
  for (uint64_t number = 1; std::getline(std::cin, line); ++number) {
    Fault fault = options.decodes ? decodeLine(tokenizer, options, line)
                                  : encodeLine(tokenizer, options, line);
    if (fault)
      return report(fault.within("line " + std::to_string(number)));
  }
  if (std::cin.bad())
    return report(Fault("cannot read the standard input"));
  return kDone;
}

int main(int count, char **arguments) {
  frit::handleInterrupts();
  handleLostFiles();
  return frit::runOnLargeStack(
      [&] { return finishOutput(runTool(count, arguments)); });
}
