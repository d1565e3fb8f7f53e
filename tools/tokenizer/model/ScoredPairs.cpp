//===- ScoredPairs.cpp - SentencePiece's byte pair encoding ---------------===//

#include "tools/tokenizer/model/ScoredPairs.h"
#include "tools/tokenizer/Text.h"

#include <queue>

using namespace frit::tokenizer;
using frit::tools::Fault;

namespace {

struct Part {
  Span span;          ///< empty once it is merged into the one before it
  int previous, next; ///< -1: none
};

struct Candidate {
  float score;
  int left, right;
  size_t bytes; ///< of both parts when they were found

  bool operator<(const Candidate &other) const { // the last one is first
    return score != other.score ? score < other.score : left > other.left;
  }
};

} // namespace

static std::string_view cut(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

Fault ScoredPairs::tokenize(std::string_view piece,
                            std::vector<TokenId> &ids) const {
  std::vector<Part> parts;
  forEachCharacter(piece, [&](int32_t, Span span) {
    int at = int(parts.size());
    parts.push_back({span, at - 1, span.end < piece.size() ? at + 1 : -1});
  });

  std::priority_queue<Candidate> candidates;
  auto offer = [&](int left, int right) {
    if (left < 0 || right < 0)
      return;
    Span both{parts[size_t(left)].span.begin, parts[size_t(right)].span.end};
    if (both.end - both.begin > Vocabulary::kMostBytes)
      return;
    if (auto id = vocabulary.find(cut(piece, both)))
      candidates.push(
          {scores[size_t(*id)], left, right, both.end - both.begin});
  };
  for (const Part &part : parts)
    offer(part.previous, int(&part - parts.data()));
  while (!candidates.empty()) {
    Candidate candidate = candidates.top();
    candidates.pop();
    Part &left = parts[size_t(candidate.left)];
    Part &right = parts[size_t(candidate.right)];
    // A part has changed since.
    if (left.span.begin == left.span.end ||
        right.span.begin == right.span.end ||
        right.span.end - left.span.begin != candidate.bytes ||
        left.next != candidate.right)
      continue;
    left.span.end = right.span.end;
    right.span.begin = right.span.end;
    left.next = right.next;
    if (left.next >= 0)
      parts[size_t(left.next)].previous = candidate.left;
    offer(left.previous, candidate.left);
    offer(candidate.left, left.next);
  }

  for (const Part &part : parts) {
    std::string_view text = cut(piece, part.span);
    if (text.empty())
      continue;
    if (auto id = vocabulary.find(text))
      ids.push_back(*id);
    else if (!vocabulary.findBytes(text, ids)) {
      if (!unknown)
        return Fault("no token stands for '" + std::string(text) +
                     "', nor for bytes, nor for what is unknown");
      ids.push_back(*unknown);
    }
  }
  return {};
}
