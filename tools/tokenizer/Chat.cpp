//===- Chat.cpp - Write conversations as a model was trained on them ------===//

#include "tools/tokenizer/Chat.h"
#include "tools/tokenizer/Text.h"
#include "tools/tokenizer/jinja/Interpreter.h"
#include "tools/tokenizer/jinja/Parser.h"

#include <limits>
#include <nlohmann/json.hpp>

using namespace frit;
using namespace frit::tokenizer;
using tools::Fault;
/// Members keep their order, which tools are written in.
using OrderedJson = nlohmann::ordered_json;

/// How deep the JSON of a conversation may be nested.
static constexpr int kDeepest = 64;

struct Chat::Template {
  jinja::Block block, withTools; ///< the second may be empty
  std::vector<std::pair<std::string, std::string>> tokens;
};

Fault Chat::read(const Tokenizer &tokenizer, Chat &chat) {
  const std::string &source = tokenizer.chatTemplate();
  chat = Chat();
  if (source.empty())
    return Fault("the tokenizer has no chat template");
  auto made = std::make_shared<Template>();
  made->tokens = tokenizer.namedTokens();
  for (auto [text, block] : {std::pair(&source, &made->block),
                             {&tokenizer.toolTemplate(), &made->withTools}}) {
    if (findInvalid(*text) != text->npos)
      return Fault("the tokenizer's chat template is no UTF-8");
    if (Fault fault = jinja::parse(*text, *block))
      return fault.within("the tokenizer's chat template");
  }
  chat.parsed = std::move(made);
  return {};
}

/// Makes a value of JSON, which is as deep as was checked.
static jinja::Value valueOf(jinja::Interpreter &interpreter,
                            const OrderedJson &json) {
  using jinja::Value;
  switch (json.type()) {
  case OrderedJson::value_t::boolean:
    return Value(json.get<bool>());
  case OrderedJson::value_t::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      return Value(json.get<double>());
    [[fallthrough]];
  case OrderedJson::value_t::number_integer:
    return Value(json.get<int64_t>());
  case OrderedJson::value_t::number_float:
    return Value(json.get<double>());
  case OrderedJson::value_t::string:
    return Value(*json.get_ptr<const std::string *>());
  case OrderedJson::value_t::array: {
    std::vector<Value> items;
    for (const OrderedJson &item : json)
      items.push_back(valueOf(interpreter, item));
    return interpreter.makeList(std::move(items));
  }
  case OrderedJson::value_t::object: {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto &[key, item] : json.items())
      entries.emplace_back(Value(key), valueOf(interpreter, item));
    return interpreter.makeMap(std::move(entries));
  }
  default:
    return Value::none();
  }
}

static Fault checkMessages(const OrderedJson &messages) {
  if (!messages.is_array())
    return Fault("it is no JSON list of messages, and no object with a list "
                 "\"messages\"");
  for (const OrderedJson &message : messages)
    if (!message.is_object() || !message.contains("role") ||
        !message["role"].is_string())
      return Fault("a message is no object with a text \"role\"");
  return {};
}

/// Gives messages with thoughts all names that templates know them by, as
/// transformers does.
static void nameThoughts(OrderedJson &messages) {
  for (OrderedJson &message : messages) {
    OrderedJson thoughts;
    for (const char *name : {"reasoning_content", "thinking", "reasoning"})
      if (thoughts.is_null() && message.contains(name))
        thoughts = message[name];
    if (thoughts.is_null())
      continue;
    OrderedJson named = {{"thinking", thoughts}};
    for (const auto &[key, value] : message.items())
      named[key] = value;
    named["reasoning_content"] = thoughts;
    message = std::move(named);
  }
}

Fault Chat::write(std::string_view text, std::string &result) const {
  // The parser takes any depth without recursion, but its values do not.
  int depth = 0, deepest = 0;
  auto follow = [&](int, OrderedJson::parse_event_t event, OrderedJson &) {
    depth += event == OrderedJson::parse_event_t::object_start ||
             event == OrderedJson::parse_event_t::array_start;
    deepest = std::max(deepest, depth);
    depth -= event == OrderedJson::parse_event_t::object_end ||
             event == OrderedJson::parse_event_t::array_end;
    return deepest <= kDeepest;
  };
  OrderedJson json =
      OrderedJson::parse(text, follow, /*allow_exceptions=*/false);
  if (deepest > kDeepest)
    return Fault("it is nested more than " + std::to_string(kDeepest) +
                 " deep");
  OrderedJson given = json.is_object() ? json : OrderedJson{{"messages", json}};
  if (Fault fault = checkMessages(given.contains("messages") ? given["messages"]
                                                             : OrderedJson()))
    return fault;
  nameThoughts(given["messages"]);

  jinja::Memory memory;
  jinja::Interpreter interpreter(memory);
  interpreter.define("tools", jinja::Value::none());
  interpreter.define("documents", jinja::Value::none());
  interpreter.define("add_generation_prompt", jinja::Value(true));
  for (const auto &[name, token] : parsed->tokens)
    interpreter.define(name, jinja::Value(token));
  for (const auto &[name, value] : given.items())
    interpreter.define(name, valueOf(interpreter, value));
  result.clear();
  bool hasTools = given.contains("tools") && !given["tools"].is_null() &&
                  !parsed->withTools.empty();
  Fault fault =
      interpreter.run(hasTools ? parsed->withTools : parsed->block, result);
  return fault ? fault.within("the tokenizer's chat template") : Fault();
}

Fault Chat::write(const std::vector<Message> &messages,
                  std::string &text) const {
  OrderedJson list = OrderedJson::array();
  for (const Message &message : messages)
    list.push_back({{"role", message.role}, {"content", message.text}});
  return write(list.dump(-1, ' ', false, OrderedJson::error_handler_t::replace),
               text);
}
