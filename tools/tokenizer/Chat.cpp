//===- Chat.cpp - Write conversations as a model was trained on them ------===//

#include "tools/tokenizer/Chat.h"
#include "tools/tokenizer/Text.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

static bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Returns the system message that a ChatML template has in it.
static std::string literalSystem(std::string_view jinja) {
  // Line breaks of a literal are written either way.
  for (std::string_view start :
       {"<|im_start|>system\\n", "<|im_start|>system\n"})
    for (size_t at = 0; (at = jinja.find(start, at)) != jinja.npos;) {
      at += start.size();
      std::string_view rest = jinja.substr(at);
      std::string_view text = rest.substr(0, rest.find("<|im_end|>"));
      if (!text.empty() && text.size() < rest.size() &&
          text.find_first_of("'\"{}\\") == text.npos)
        return std::string(text);
    }
  return "";
}

/// Without white space at both ends.
static std::string trim(std::string_view text) {
  size_t begin = text.size(), end = 0;
  forEachCharacter(text, [&](int32_t code, Span span) {
    if (isSpace(code))
      return;
    begin = std::min(begin, span.begin);
    end = span.end;
  });
  return begin < end ? std::string(text.substr(begin, end - begin)) : "";
}

Fault Chat::recognize(const Tokenizer &tokenizer, Chat &chat) {
  const std::string &jinja = tokenizer.chatTemplate();
  chat = Chat();
  if (jinja.empty())
    return Fault("the tokenizer has no chat template");
  // SmolLM 3's is ChatML around a system message of its own with the date.
  if (contains(jinja, "strftime_now"))
    return Fault("the tokenizer's chat template writes today's date, which is "
                 "not supported");
  auto id = tokenizer.begin();
  std::string begin = id ? *tokenizer.textOf(*id) : "";
  bool writesBegin = contains(jinja, "bos_token");
  if (contains(jinja, "<|im_start|>")) {
    chat.kind = Kind::chatMl;
    chat.defaultSystem = literalSystem(jinja);
  } else if (contains(jinja, "<|start_header_id|>") &&
             !contains(jinja, "Cutting Knowledge Date")) {
    chat.kind = Kind::llama3;
  } else if (contains(jinja, "<start_of_turn>")) {
    chat.kind = Kind::gemma;
    chat.joinsSystem = contains(jinja, "first_user_prefix");
  } else if (contains(jinja, "<|end|>") &&
             (contains(jinja, "<|user|>") || contains(jinja, "'<|' +"))) {
    chat.kind = Kind::phi3;
    bool hasBreak =
        contains(jinja, "<|user|>\\n") || contains(jinja, "<|user|>\n") ||
        contains(jinja, "<|user|>' + '\\n'") || contains(jinja, "'|>\\n'");
    chat.roleEnd = hasBreak ? "\n" : "";
  } else
    return Fault("the tokenizer's chat template is none of those that are "
                 "supported: ChatML, Llama 3 without dates, Gemma, Phi 3");
  if (writesBegin)
    chat.begin = begin;
  return {};
}

Fault Chat::check(const std::vector<Message> &messages) const {
  for (size_t at = 0; at < messages.size(); ++at) {
    const std::string &role = messages[at].role;
    if (role != "system" && role != "user" && role != "assistant")
      return Fault("message " + std::to_string(at) + " has role '" + role +
                   "'; system, user and assistant are supported");
    if (role == "system" && kind == Kind::gemma && (at || !joinsSystem))
      return Fault(at ? "a system message is possible only at the start"
                      : "this model has no system messages");
  }
  return {};
}

Fault Chat::write(const std::vector<Message> &messages,
                  std::string &text) const {
  if (Fault fault = check(messages))
    return fault;
  text = begin;
  bool hasSystem = !messages.empty() && messages[0].role == "system";
  auto writeChatMl = [&](const std::string &role, const std::string &content) {
    text += "<|im_start|>" + role + "\n" + content + "<|im_end|>\n";
  };
  if (kind == Kind::chatMl && !hasSystem && !defaultSystem.empty())
    writeChatMl("system", defaultSystem);
  std::string prefix;
  for (const Message &message : messages) {
    switch (kind) {
    case Kind::chatMl:
      writeChatMl(message.role, message.text);
      break;
    case Kind::llama3:
      text += "<|start_header_id|>" + message.role + "<|end_header_id|>\n\n" +
              trim(message.text) + "<|eot_id|>";
      break;
    case Kind::gemma:
      if (message.role == "system") {
        prefix = message.text + "\n\n";
        break;
      }
      text += "<start_of_turn>";
      text += message.role == "user" ? "user" : "model";
      text += "\n" + prefix + trim(message.text) + "<end_of_turn>\n";
      prefix.clear();
      break;
    case Kind::phi3:
      text += "<|" + message.role + "|>" + roleEnd + message.text + "<|end|>" +
              roleEnd;
      break;
    }
  }
  text += kind == Kind::chatMl   ? "<|im_start|>assistant\n"
          : kind == Kind::llama3 ? "<|start_header_id|>assistant"
                                   "<|end_header_id|>\n\n"
          : kind == Kind::gemma  ? "<start_of_turn>model\n"
                                 : "<|assistant|>" + roleEnd;
  return {};
}
