//===- ByteLevel.cpp - GPT-2's characters for bytes -----------------------===//

#include "tools/tokenizer/ByteLevel.h"
#include "tools/tokenizer/Text.h"

#include <array>

using namespace frit::tokenizer;

namespace {

struct Tables {
  std::array<int32_t, 256> characters;
  std::array<int16_t, 512> bytes; ///< -1: stands for none
};

constexpr Tables makeTables() {
  Tables tables{};
  tables.bytes.fill(-1);
  int32_t next = 256;
  for (int32_t byte = 0; byte < 256; ++byte) {
    bool prints = (byte >= 0x21 && byte <= 0x7e) ||
                  (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    int32_t character = prints ? byte : next++;
    tables.characters[size_t(byte)] = character;
    tables.bytes[size_t(character)] = int16_t(byte);
  }
  return tables;
}

constexpr Tables kTables = makeTables();

} // namespace

std::string frit::tokenizer::toByteCharacters(std::string_view bytes) {
  std::string result;
  for (char byte : bytes)
    appendCharacter(result, kTables.characters[uint8_t(byte)]);
  return result;
}

std::optional<std::string>
frit::tokenizer::fromByteCharacters(std::string_view text) {
  std::string result;
  bool standsForBytes = true;
  forEachCharacter(text, [&](int32_t code, Span) {
    int byte = code < 512 ? kTables.bytes[size_t(code)] : -1;
    standsForBytes &= byte >= 0;
    result += char(byte);
  });
  if (!standsForBytes)
    return std::nullopt;
  return result;
}
