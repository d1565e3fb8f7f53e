//===- AddedTokens.cpp - Tokens that are found before a text is split -----===//

#include "tools/tokenizer/AddedTokens.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

Fault AddedTokens::add(AddedToken token) {
  if (token.text.empty())
    return {};
  if (Fault fault = ids.add(token.text, uint64_t(token.id)))
    return fault;
  places[token.id] = tokens.size();
  tokens.push_back(std::move(token));
  return {};
}

Fault AddedTokens::finish(const Normalizer &normalizer) {
  std::vector<Trie::Entry> before, after;
  for (size_t place = 0; place < tokens.size(); ++place) {
    std::string text = tokens[place].text;
    if (!tokens[place].isNormalized) {
      before.push_back({std::move(text), TokenId(place)});
      continue;
    }
    if (Fault fault = normalize(normalizer, text))
      return fault;
    if (text.size() > Vocabulary::kMostBytes)
      return Fault("added token '" + tokens[place].text +
                   "' becomes too long when it is normalized");
    tokens[place].text = text;
    after.push_back({std::move(text), TokenId(place)});
  }
  raw = Trie(std::move(before));
  normalized = Trie(std::move(after));
  return {};
}

const AddedToken *AddedTokens::find(TokenId id) const {
  auto found = places.find(id);
  return found == places.end() ? nullptr : &tokens[found->second];
}

std::optional<TokenId> AddedTokens::find(std::string_view text) const {
  return ids.find(text);
}

const AddedToken *AddedTokens::longestAt(std::string_view rest,
                                         const Trie &trie,
                                         size_t &bytes) const {
  const AddedToken *longest = nullptr;
  trie.forEachPrefix(rest, [&](size_t count, TokenId place) {
    longest = &tokens[size_t(place)];
    bytes = count;
  });
  return longest;
}

/// Returns the character that ends at `end`, which is not 0.
static int32_t characterBefore(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at && (uint8_t(text[at]) & 0xc0) == 0x80)
    --at;
  return characterAt(text, at).code;
}

static bool isWithinWord(std::string_view text, Span span) {
  return (span.begin && isWord(characterBefore(text, span.begin))) ||
         (span.end < text.size() && isWord(characterAt(text, span.end).code));
}

/// Widens a token over white space, on the left as far as `floor`.
static Span strip(std::string_view text, Span span, size_t floor,
                  const AddedToken &token) {
  while (token.stripsLeft && span.begin > floor &&
         isSpace(characterBefore(text, span.begin)))
    do
      --span.begin;
    while ((uint8_t(text[span.begin]) & 0xc0) == 0x80);
  while (token.stripsRight && span.end < text.size()) {
    Character next = characterAt(text, span.end);
    if (!isSpace(next.code))
      break;
    span.end += next.bytes;
  }
  return span;
}

std::vector<Segment> AddedTokens::split(std::string_view text,
                                        bool isNormalized) const {
  const Trie &trie = isNormalized ? normalized : raw;
  std::vector<Segment> segments;
  if (trie.isEmpty()) {
    segments.push_back({{0, text.size()}, std::nullopt});
    return segments;
  }
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    size_t bytes = 0;
    const AddedToken *token = longestAt(text.substr(at), trie, bytes);
    Span span{at, at + bytes};
    at = token ? span.end : at + 1;
    if (!token || (token->isSingleWord && isWithinWord(text, span)))
      continue;
    // A token before this one may have taken the space up to here.
    if (span.begin < done)
      span.begin = done;
    if (span.end <= done)
      continue;
    span = strip(text, span, done, *token);
    if (done < span.begin)
      segments.push_back({{done, span.begin}, std::nullopt});
    segments.push_back({span, token->id});
    done = span.end;
  }
  if (done < text.size())
    segments.push_back({{done, text.size()}, std::nullopt});
  return segments;
}
