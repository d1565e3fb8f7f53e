//===- Vocabulary.cpp - Tokens and their texts ----------------------------===//

#include "tools/tokenizer/Vocabulary.h"

#include <charconv>
#include <cstdio>

using namespace frit::tokenizer;
using frit::tools::Fault;

Fault Vocabulary::add(std::string text, uint64_t id) {
  if (id >= kMostTokens)
    return Fault("token '" + text + "' has id " + std::to_string(id) +
                 "; ids are below " + std::to_string(kMostTokens));
  if (text.size() > kMostBytes)
    return Fault("token " + std::to_string(id) + " has " +
                 std::to_string(text.size()) + " bytes; " +
                 std::to_string(kMostBytes) + " at most");
  if (id >= texts.size())
    texts.resize(id + 1);
  ids.insert_or_assign(text, TokenId(id));
  texts[id] = std::move(text);
  return {};
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string *Vocabulary::textOf(TokenId id) const {
  if (id < 0 || size_t(id) >= texts.size() || !texts[size_t(id)])
    return nullptr;
  return &*texts[size_t(id)];
}

bool Vocabulary::findBytes(std::string_view bytes,
                           std::vector<TokenId> &found) const {
  size_t before = found.size();
  for (char byte : bytes) {
    auto id = find(byteToken(uint8_t(byte)));
    if (!id) {
      found.resize(before);
      return false;
    }
    found.push_back(*id);
  }
  return true;
}

std::string frit::tokenizer::byteToken(uint8_t byte) {
  char text[8];
  snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

std::optional<uint8_t> frit::tokenizer::byteOfToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  uint8_t byte = 0;
  auto [end, error] = std::from_chars(&text[3], &text[5], byte, 16);
  if (error != std::errc() || end != &text[5])
    return std::nullopt;
  return byte;
}
