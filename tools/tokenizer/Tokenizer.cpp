//===- Tokenizer.cpp - Turn text into tokens and back ---------------------===//

#include "tools/tokenizer/Tokenizer.h"
#include "tools/support/Mapped.h"
#include "tools/tokenizer/Parts.h"

#include <sys/stat.h>

using namespace frit;
using namespace frit::tokenizer;
using tools::Bytes;
using tools::Fault;

static constexpr size_t kMostJson = 1 << 29;

const std::string *Parts::textOf(TokenId id) const {
  const AddedToken *token = added.find(id);
  return token ? &token->text : vocabulary.textOf(id);
}

std::optional<TokenId> Parts::find(std::string_view text) const {
  auto id = added.find(text);
  return id ? id : vocabulary.find(text);
}

Fault Tokenizer::readJson(Bytes bytes, Tokenizer &tokenizer) {
  auto parts = std::make_shared<Parts>();
  if (Fault fault = readJsonParts(bytes, *parts))
    return fault;
  tokenizer.parts = std::move(parts);
  return {};
}

Fault Tokenizer::readGguf(Bytes bytes, Tokenizer &tokenizer) {
  auto parts = std::make_shared<Parts>();
  if (Fault fault = readGgufParts(bytes, *parts))
    return fault;
  tokenizer.parts = std::move(parts);
  return {};
}

Fault Tokenizer::load(const std::string &path, Tokenizer &tokenizer) {
  struct stat facts;
  bool isFolder = stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
  std::string file = isFolder ? path + "/tokenizer.json" : path;
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = tools::mapFile(file, bytes, owner))
    return fault;
  auto parts = std::make_shared<Parts>();
  Fault fault;
  if (tools::asText(bytes).starts_with("GGUF"))
    fault = readGgufParts(bytes, *parts);
  else if (bytes.size() > kMostJson)
    fault = Fault("it is no GGUF file, and too large for a tokenizer.json");
  else
    fault = readJsonParts(bytes, *parts);
  if (fault)
    return fault.within("'" + file + "'");
  if (!tools::asText(bytes).starts_with("GGUF")) {
    size_t slash = file.rfind('/');
    std::string folder = slash == file.npos ? "." : file.substr(0, slash);
    if (Fault fault = readNeighbours(folder, *parts))
      return fault;
  }
  tokenizer.parts = std::move(parts);
  return {};
}

/// Appends the tokens of text without added tokens.
static Fault encodeText(const Parts &parts, std::string text, bool isFirst,
                        std::vector<TokenId> &ids) {
  std::vector<Piece> pieces;
  pieces.push_back({std::move(text), isFirst});
  for (const SplitterStep &step : parts.splitter)
    if (Fault fault = step(pieces))
      return fault;
  for (const Piece &piece : pieces)
    if (Fault fault = parts.model->tokenize(piece.text, ids))
      return fault;
  return {};
}

Fault Tokenizer::encode(std::string_view text, Specials specials,
                        std::vector<TokenId> &ids) const {
  if (size_t place = findInvalid(text); place != text.npos)
    return Fault("the text is no UTF-8 at byte " + std::to_string(place));
  auto cut = [](std::string_view text, Span span) {
    return text.substr(span.begin, span.end - span.begin);
  };
  size_t before = ids.size();
  auto append = [&]() -> Fault {
    if (specials == Specials::add)
      ids.insert(ids.end(), parts->before.begin(), parts->before.end());
    for (const Segment &raw : parts->added.split(text, false)) {
      if (raw.id) {
        ids.push_back(*raw.id);
        continue;
      }
      std::string normal(cut(text, raw.span));
      if (Fault fault = normalize(parts->normalizer, normal))
        return fault;
      for (const Segment &segment : parts->added.split(normal, true)) {
        if (segment.id)
          ids.push_back(*segment.id);
        else if (segment.span.begin != segment.span.end)
          if (Fault fault = encodeText(
                  *parts, std::string(cut(normal, segment.span)),
                  raw.span.begin == 0 && segment.span.begin == 0, ids))
            return fault;
      }
    }
    if (specials == Specials::add)
      ids.insert(ids.end(), parts->after.begin(), parts->after.end());
    return {};
  };
  Fault fault = append();
  if (fault)
    ids.resize(before);
  return fault;
}

static bool isHidden(const Parts &parts, TokenId id, Shown shown) {
  const AddedToken *token = parts.added.find(id);
  return shown == Shown::text && token && token->isSpecial;
}

Fault Tokenizer::decode(std::span<const TokenId> ids, Shown shown,
                        std::string &text) const {
  std::vector<std::string> texts;
  for (TokenId id : ids)
    if (const std::string *token = parts->textOf(id);
        token && !isHidden(*parts, id, shown))
      texts.push_back(*token);
  return parts->decoder.decode(std::move(texts), text);
}

size_t Tokenizer::size() const {
  return std::max(parts->vocabulary.size(), parts->added.size());
}

const std::string *Tokenizer::textOf(TokenId id) const {
  return parts->textOf(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view text) const {
  return parts->find(text);
}

std::optional<TokenId> Tokenizer::begin() const { return parts->begin; }

const std::vector<TokenId> &Tokenizer::ends() const { return parts->ends; }

const std::string &Tokenizer::chatTemplate() const {
  return parts->chatTemplate;
}

const std::string &Tokenizer::toolTemplate() const {
  return parts->toolTemplate;
}

const std::vector<std::pair<std::string, std::string>> &
Tokenizer::namedTokens() const {
  return parts->namedTokens;
}

Fault TextStream::push(TokenId id, std::string &text) {
  const std::string *token = tokenizer.parts->textOf(id);
  if (!token || isHidden(*tokenizer.parts, id, shown))
    return {};
  texts.push_back(*token);
  return advance(/*isEnd=*/false, text);
}

Fault TextStream::finish(std::string &text) {
  Fault fault = advance(/*isEnd=*/true, text);
  texts.clear();
  shownTexts = shownBytes = 0;
  return fault;
}

Fault TextStream::advance(bool isEnd, std::string &text) {
  const Decoder &decoder = tokenizer.parts->decoder;
  bool hasByteTokens = decoder.bytes == Decoder::Bytes::byteTokens;
  std::string all, bytes;
  if (Fault fault = decoder.decode(texts, all))
    return fault;
  for (size_t at = shownTexts; at < texts.size(); ++at)
    bytes += decoder.bytesOf(texts[at]);
  bool isWhole = isEnd || !incompleteTail(bytes);
  size_t end = all.size();
  if (!isWhole) {
    // A run of byte tokens is all U+FFFD until the last byte is there; of other
    // texts only the last character is.
    static constexpr std::string_view unknown = "\uFFFD";
    if (hasByteTokens || !all.ends_with(unknown))
      return {};
    end -= unknown.size();
  }
  if (end > shownBytes) {
    text.append(all, shownBytes, end - shownBytes);
    shownBytes = end;
  }
  if (!isWhole)
    return {};
  // The next tokens follow others, which makes a difference to most decoders.
  // They do not continue a run of byte tokens that has been shown.
  if (hasByteTokens)
    texts = {"x"};
  else
    texts.erase(texts.begin(), texts.begin() + long(shownTexts));
  shownTexts = texts.size();
  if (Fault fault = decoder.decode(texts, all))
    return fault;
  shownBytes = all.size();
  return {};
}
