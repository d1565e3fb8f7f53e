//===- Unigram.cpp - The most likely tokens -------------------------------===//

#include "tools/tokenizer/model/Unigram.h"
#include "tools/tokenizer/Text.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

/// How much less likely an unknown character is than the least likely token.
static constexpr double kUnknownPenalty = 10;

Unigram::Unigram(const Vocabulary &vocabulary, std::vector<double> logs,
                 std::optional<TokenId> unknown, bool fallsBackToBytes)
    : vocabulary(vocabulary), scores(std::move(logs)), unknown(unknown),
      fallsBackToBytes(fallsBackToBytes) {
  std::vector<Trie::Entry> entries;
  for (size_t id = 0; id < vocabulary.size(); ++id)
    if (const std::string *text = vocabulary.textOf(TokenId(id)))
      entries.push_back({*text, TokenId(id)});
  trie = Trie(std::move(entries));
  double least = scores.empty() ? 0 : *std::ranges::min_element(scores);
  unknownScore = least - kUnknownPenalty;
}

Fault Unigram::appendUnknown(std::string_view text,
                             std::vector<TokenId> &ids) const {
  if (auto id = vocabulary.find(text)) // fused from parts, it may be one
    ids.push_back(*id);
  else if (fallsBackToBytes && vocabulary.findBytes(text, ids))
    return {};
  else if (unknown)
    ids.push_back(*unknown);
  else
    return Fault("no token stands for '" + std::string(text) +
                 "', and the tokenizer has none for what is unknown");
  return {};
}

Fault Unigram::tokenize(std::string_view piece,
                        std::vector<TokenId> &ids) const {
  /// The best way to the end of a prefix of the piece.
  struct Way {
    double score = 0;
    size_t start = std::string_view::npos; ///< of the last token
    bool isUnknown = false;
    TokenId id = 0;
  };
  std::vector<Way> ways(piece.size() + 1);
  auto improve = [piece](Way &way, Way other) {
    if (way.start == piece.npos || other.score > way.score)
      way = other;
  };
  forEachCharacter(piece, [&](int32_t, Span span) {
    double before = ways[span.begin].score;
    bool isToken = false;
    trie.forEachPrefix(piece.substr(span.begin), [&](size_t bytes, TokenId id) {
      improve(ways[span.begin + bytes],
              {before + scores[size_t(id)], span.begin, false, id});
      isToken |= bytes == span.end - span.begin;
    });
    if (!isToken)
      improve(ways[span.end], {before + unknownScore, span.begin, true, 0});
  });

  std::vector<Way> path;
  for (size_t end = piece.size(); end; end = ways[end].start) {
    Way &way = ways[end];
    // The unknown token itself counts as unknown text.
    way.isUnknown |= unknown && way.id == *unknown && !way.isUnknown;
    path.push_back(way);
  }
  // Neighbours that are unknown become one.
  for (size_t at = path.size(); at--;) {
    if (!path[at].isUnknown) {
      ids.push_back(path[at].id);
      continue;
    }
    size_t start = path[at].start;
    while (at && path[at - 1].isUnknown)
      --at;
    size_t end = at ? path[at - 1].start : piece.size();
    if (Fault fault = appendUnknown(piece.substr(start, end - start), ids))
      return fault;
  }
  return {};
}
