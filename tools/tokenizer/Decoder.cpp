//===- Decoder.cpp - Turn the texts of tokens into text -------------------===//

#include "tools/tokenizer/Decoder.h"
#include "tools/tokenizer/ByteLevel.h"
#include "tools/tokenizer/Vocabulary.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

static std::string join(const std::vector<std::string> &texts,
                        std::string_view between = "") {
  std::string result;
  for (const std::string &text : texts) {
    if (&text != texts.data())
      result += between;
    result += text;
  }
  return result;
}

Fault Decoder::decode(std::vector<std::string> texts, std::string &text) const {
  for (const DecoderStep &step : steps)
    if (Fault fault = step(texts))
      return fault;
  text = join(texts, joinsWithSpaces ? " " : "");
  return {};
}

std::string Decoder::bytesOf(const std::string &text) const {
  if (bytes == Bytes::byteLevel)
    return fromByteCharacters(text).value_or(text);
  if (bytes == Bytes::byteTokens)
    if (auto byte = byteOfToken(text))
      return std::string(1, char(*byte));
  return text;
}

DecoderStep frit::tokenizer::decodeByteLevel() {
  return [](std::vector<std::string> &texts) {
    std::string bytes;
    for (const std::string &text : texts)
      bytes += fromByteCharacters(text).value_or(text);
    texts = {replaceInvalid(bytes)};
    return Fault();
  };
}

DecoderStep frit::tokenizer::decodeByteTokens() {
  return [](std::vector<std::string> &texts) {
    std::vector<std::string> result;
    std::string run;
    // Of a run that is no text, each byte becomes one U+FFFD.
    auto flush = [&] {
      if (run.empty())
        return;
      if (findInvalid(run) == run.npos)
        result.push_back(run);
      else
        result.insert(result.end(), run.size(), "\uFFFD");
      run.clear();
    };
    for (std::string &text : texts) {
      if (auto byte = byteOfToken(text)) {
        run += char(*byte);
        continue;
      }
      flush();
      result.push_back(std::move(text));
    }
    flush();
    texts = std::move(result);
    return Fault();
  };
}

DecoderStep frit::tokenizer::decodeReplace(Regex regex, std::string by) {
  return [=](std::vector<std::string> &texts) {
    for (std::string &text : texts)
      if (Fault fault = regex.replaceAll(text, by))
        return fault;
    return Fault();
  };
}

DecoderStep frit::tokenizer::decodeFuse() {
  return [](std::vector<std::string> &texts) {
    texts = {join(texts)};
    return Fault();
  };
}

DecoderStep frit::tokenizer::decodeStrip(std::string character, uint32_t left,
                                         uint32_t right) {
  return [=](std::vector<std::string> &texts) {
    for (std::string &text : texts) {
      std::string_view rest = text;
      for (uint32_t count = 0; count < left && rest.starts_with(character);
           ++count)
        rest.remove_prefix(character.size());
      for (uint32_t count = 0; count < right && rest.ends_with(character);
           ++count)
        rest.remove_suffix(character.size());
      text = std::string(rest);
    }
    return Fault();
  };
}
