//===- Splitter.cpp - Split a text into pieces that no token spans --------===//

#include "tools/tokenizer/Splitter.h"
#include "tools/tokenizer/ByteLevel.h"

#include <algorithm>

using namespace frit::tokenizer;
using frit::tools::Fault;

namespace {
/// A part of a piece.
struct PieceSpan {
  Span span;
  bool isMatch;
};
} // namespace

/// Returns the matches, which are in order, and what lies between.
static std::vector<PieceSpan>
partsOf(size_t size, const std::vector<Span> &matches, bool inverted) {
  std::vector<PieceSpan> parts;
  size_t at = 0;
  for (Span match : matches) {
    if (at != match.begin)
      parts.push_back({{at, match.begin}, inverted});
    parts.push_back({match, !inverted});
    at = match.end;
  }
  if (at != size)
    parts.push_back({{at, size}, inverted});
  return parts;
}

/// Joins parts in place. `joins(part, previous)` says whether a part is to be
/// one with the previous one.
template <typename Joins>
static void joinParts(std::vector<PieceSpan> &parts, Joins joins) {
  std::vector<PieceSpan> joined;
  for (size_t at = 0; at < parts.size(); ++at)
    if (at && joins(parts[at], parts[at - 1]))
      joined.back().span.end = parts[at].span.end;
    else
      joined.push_back(parts[at]);
  parts = std::move(joined);
}

static void applyMatches(std::vector<PieceSpan> &parts, OnMatch onMatch) {
  switch (onMatch) {
  case OnMatch::isolate:
    return;
  case OnMatch::remove:
    std::erase_if(parts, [](const PieceSpan &part) { return part.isMatch; });
    return;
  case OnMatch::mergeWithPrevious:
    joinParts(parts, [](const PieceSpan &part, const PieceSpan &previous) {
      return part.isMatch && !previous.isMatch;
    });
    return;
  case OnMatch::mergeWithNext:
    joinParts(parts, [](const PieceSpan &part, const PieceSpan &previous) {
      return previous.isMatch && !part.isMatch;
    });
    return;
  case OnMatch::joinMatches:
    joinParts(parts, [](const PieceSpan &part, const PieceSpan &previous) {
      return part.isMatch == previous.isMatch;
    });
    return;
  }
}

/// Splits each piece at what `find(text, matches)` finds.
template <typename Find>
static Fault splitPieces(std::vector<Piece> &pieces, OnMatch onMatch,
                         bool inverted, Find find) {
  std::vector<Piece> result;
  std::vector<Span> matches;
  for (Piece &piece : pieces) {
    matches.clear();
    if (Fault fault = find(piece.text, matches))
      return fault;
    std::vector<PieceSpan> parts =
        partsOf(piece.text.size(), matches, inverted);
    applyMatches(parts, onMatch);
    for (const PieceSpan &part : parts)
      if (Span span = part.span; span.begin != span.end)
        result.push_back({piece.text.substr(span.begin, span.end - span.begin),
                          piece.isFirst && span.begin == 0});
  }
  pieces = std::move(result);
  return {};
}

SplitterStep frit::tokenizer::splitAt(Regex regex, OnMatch onMatch,
                                      bool inverted) {
  return [=](std::vector<Piece> &pieces) {
    return splitPieces(pieces, onMatch, inverted,
                       [&](const std::string &text, std::vector<Span> &found) {
                         return regex.findAll(text, found);
                       });
  };
}

SplitterStep frit::tokenizer::splitAt(std::function<bool(int32_t)> isMatch,
                                      OnMatch onMatch) {
  return [=](std::vector<Piece> &pieces) {
    return splitPieces(pieces, onMatch, false,
                       [&](const std::string &text, std::vector<Span> &found) {
                         forEachCharacter(text, [&](int32_t code, Span span) {
                           if (isMatch(code))
                             found.push_back(span);
                         });
                         return Fault();
                       });
  };
}

Fault frit::tokenizer::addGpt2Split(Splitter &splitter) {
  Regex regex;
  if (Fault fault = Regex::compile(
          R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
          R"(\s+(?!\S)|\s+)",
          regex))
    return fault;
  splitter.push_back(splitAt(regex, OnMatch::isolate));
  return {};
}

SplitterStep frit::tokenizer::mapBytes() {
  return [](std::vector<Piece> &pieces) {
    for (Piece &piece : pieces)
      piece.text = toByteCharacters(piece.text);
    return Fault();
  };
}

void frit::tokenizer::addMetaspace(const std::string &replacement,
                                   Prepend prepend, bool splits,
                                   Splitter &splitter) {
  Regex space = Regex::literal(" ");
  splitter.push_back([=](std::vector<Piece> &pieces) {
    for (Piece &piece : pieces) {
      if (Fault fault = space.replaceAll(piece.text, replacement))
        return fault;
      bool wants = prepend == Prepend::always ||
                   (prepend == Prepend::first && piece.isFirst);
      if (wants && !piece.text.starts_with(replacement))
        piece.text.insert(0, replacement);
    }
    return Fault();
  });
  if (splits)
    splitter.push_back(
        splitAt(Regex::literal(replacement), OnMatch::mergeWithNext));
}
