//===- ReadJson.cpp - Read tokenizer.json and the files beside it ---------===//

#include "tools/support/Mapped.h"
#include "tools/tokenizer/Parts.h"

#include <unistd.h>

using namespace frit;
using namespace frit::tokenizer;
using tools::Bytes;
using tools::Fault;

static Fault readAddedToken(const Node &node, Parts &parts) {
  AddedToken token;
  uint32_t id = 0;
  if (Fault fault = node["id"].read(id))
    return fault;
  if (Fault fault = node["content"].read(token.text))
    return fault;
  std::pair<const char *, bool *> flags[] = {
      {"special", &token.isSpecial},
      {"single_word", &token.isSingleWord},
      {"lstrip", &token.stripsLeft},
      {"rstrip", &token.stripsRight},
      {"normalized", &token.isNormalized}};
  for (auto [name, flag] : flags)
    if (Fault fault = node[name].readOptional(*flag))
      return fault;
  if (id >= Vocabulary::kMostTokens)
    return node["id"].fault(std::to_string(id) +
                            " is too large; ids are below " +
                            std::to_string(Vocabulary::kMostTokens));
  token.id = TokenId(id);
  Fault fault = parts.added.add(std::move(token));
  return fault ? node.fault(fault.message()) : Fault();
}

/// Reads a processor with "cls" and "sep": ["[CLS]", 101].
static Fault readBertLike(const Node &node, Parts &parts) {
  for (const char *name : {"cls", "sep"}) {
    uint32_t id = 0;
    const Node pair = node[name];
    if (!pair.isArray() || pair.value().size() != 2)
      return pair.fault("expected a token and its id");
    if (Fault fault = pair.element(1).read(id))
      return fault;
    (*name == 'c' ? parts.before : parts.after).push_back(TokenId(id));
  }
  return {};
}

/// Appends the ids of a special token that a template names.
static Fault readSpecial(const Node &node, const Node &named,
                         std::vector<TokenId> &ids) {
  std::string name;
  if (Fault fault = named["id"].read(name))
    return fault;
  std::vector<Node> list;
  const Node special = node["special_tokens"][name.c_str()];
  if (Fault fault = special["ids"].read(list))
    return fault;
  for (const Node &element : list) {
    uint32_t id = 0;
    if (Fault fault = element.read(id))
      return fault;
    ids.push_back(TokenId(id));
  }
  return {};
}

static Fault readTemplate(const Node &node, Parts &parts) {
  std::vector<Node> items;
  if (Fault fault = node["single"].read(items))
    return fault;
  std::vector<TokenId> before, after;
  bool hasText = false;
  for (const Node &item : items) {
    if (!item["SpecialToken"].isNull()) {
      if (Fault fault =
              readSpecial(node, item["SpecialToken"], hasText ? after : before))
        return fault;
      continue;
    }
    if (item["Sequence"].isNull() || hasText)
      return item.fault("expected a special token, or once the text");
    hasText = true;
  }
  if (!hasText)
    return node["single"].fault("it leaves out the text");
  parts.before.insert(parts.before.begin(), before.begin(), before.end());
  parts.after.insert(parts.after.end(), after.begin(), after.end());
  return {};
}

Fault frit::tokenizer::readSurroundings(const Node &node, Parts &parts) {
  if (node.isNull())
    return {};
  std::string type;
  if (Fault fault = node["type"].read(type))
    return fault;
  if (type == "ByteLevel") // changes only what is said of positions
    return {};
  if (type == "TemplateProcessing")
    return readTemplate(node, parts);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return readBertLike(node, parts);
  if (type != "Sequence")
    return node.fault("post-processor '" + type +
                      "' is not supported; TemplateProcessing, ByteLevel, "
                      "BertProcessing, RobertaProcessing and Sequence are");
  std::vector<Node> inner;
  if (Fault fault = node["processors"].read(inner))
    return fault;
  for (const Node &step : inner)
    if (Fault fault = readSurroundings(step, parts))
      return fault;
  return {};
}

Fault frit::tokenizer::readJsonParts(Bytes bytes, Parts &parts) {
  Json json;
  if (Fault fault = parseJson(bytes, json))
    return fault;
  const Node root(json);
  if (!json.is_object() || root["model"].isNull())
    return Fault("it is no tokenizer.json: it has no \"model\"");
  if (Fault fault = readModel(root["model"], parts))
    return fault;
  if (Fault fault = readNormalizer(root["normalizer"], parts.normalizer))
    return fault;
  if (Fault fault = readSplitter(root["pre_tokenizer"], parts.splitter))
    return fault;
  if (Fault fault = readSurroundings(root["post_processor"], parts))
    return fault;
  if (Fault fault = readDecoder(root["decoder"], parts.decoder))
    return fault;
  std::vector<Node> added;
  if (Fault fault = root["added_tokens"].readOptional(added))
    return fault;
  for (const Node &token : added)
    if (Fault fault = readAddedToken(token, parts))
      return fault;
  return parts.added.finish(parts.normalizer);
}

/// Calls `read` with the bytes of a file if there is one.
template <class Read>
static Fault readOptional(const std::string &path, Read read) {
  if (access(path.c_str(), F_OK))
    return {};
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = tools::mapFile(path, bytes, owner))
    return fault;
  return read(bytes);
}

/// Parses a file; null if there is none.
static Fault readOptionalJson(const std::string &path, Json &json) {
  return readOptional(path, [&](Bytes bytes) {
    Fault fault = parseJson(bytes, json);
    return fault ? fault.within("'" + path + "'") : Fault();
  });
}

/// Returns the token that a text, or an object with "content", names.
static std::optional<TokenId> namedToken(const Node &node, const Parts &parts) {
  std::string text;
  if ((node.isText() ? node : node["content"]).read(text))
    return std::nullopt;
  return parts.find(text);
}

static void addEnd(std::optional<TokenId> id, Parts &parts) {
  if (id && std::ranges::find(parts.ends, *id) == parts.ends.end())
    parts.ends.push_back(*id);
}

/// Reads "chat_template": a text, or a list of {"name", "template"}.
static void readChatTemplate(const Node &node, Parts &parts) {
  std::vector<Node> list;
  if (!node.read(parts.chatTemplate) || node.read(list))
    return;
  for (const Node &entry : list) {
    std::string name;
    if (entry["name"].read(name))
      continue;
    if (name == "default")
      (void)entry["template"].read(parts.chatTemplate).message();
    else if (name == "tool_use")
      (void)entry["template"].read(parts.toolTemplate).message();
  }
}

/// Reads a template's file if there is one.
static Fault readOptionalText(const std::string &path, std::string &text) {
  return readOptional(path, [&](Bytes bytes) {
    text = tools::asText(bytes);
    return Fault();
  });
}

Fault frit::tokenizer::readNeighbours(const std::string &folder, Parts &parts) {
  Json config, generation, genai;
  if (Fault fault = readOptionalJson(folder + "/tokenizer_config.json", config))
    return fault;
  if (Fault fault =
          readOptionalJson(folder + "/generation_config.json", generation))
    return fault;
  if (Fault fault = readOptionalJson(folder + "/genai_config.json", genai))
    return fault;
  parts.begin = namedToken(Node(config)["bos_token"], parts);
  addEnd(namedToken(Node(config)["eos_token"], parts), parts);
  readChatTemplate(Node(config)["chat_template"], parts);
  for (const char *name : {"bos_token", "eos_token", "unk_token", "sep_token",
                           "pad_token", "cls_token", "mask_token"}) {
    const Node token = Node(config)[name];
    if (std::string text;
        !(token.isText() ? token : token["content"]).read(text))
      parts.namedTokens.emplace_back(name, text);
  }
  for (const Node &ends : {Node(generation)["eos_token_id"],
                           Node(genai)["model"]["eos_token_id"]}) {
    std::vector<Node> list;
    if (ends.isArray())
      (void)ends.read(list).message();
    else
      list.push_back(ends);
    for (const Node &end : list)
      if (uint32_t id = 0; !end.read(id) && id < Vocabulary::kMostTokens)
        addEnd(TokenId(id), parts);
  }

  if (Fault fault =
          readOptionalText(folder + "/chat_template.jinja", parts.chatTemplate))
    return fault;
  return readOptionalText(folder + "/additional_chat_templates/tool_use.jinja",
                          parts.toolTemplate);
}
