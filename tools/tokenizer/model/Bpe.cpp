//===- Bpe.cpp - Byte pair encoding ---------------------------------------===//

#include "tools/tokenizer/model/Bpe.h"
#include "tools/tokenizer/Text.h"

#include <queue>

using namespace frit::tokenizer;
using frit::tools::Fault;

Fault Bpe::addMerge(std::string_view left, std::string_view right) {
  auto quoted = [](std::string_view text) {
    return "'" + std::string(text) + "'";
  };
  auto first = vocabulary.find(left), second = vocabulary.find(right);
  if (left.empty() || right.empty() || !first || !second)
    return Fault("merge " + std::to_string(ranks) + " has part " +
                 quoted(left.empty() || !first ? left : right) +
                 ", which is no token");
  // A part that does not begin a piece has the prefix.
  std::string_view rest = right;
  if (!options.prefix.empty()) {
    if (!right.starts_with(options.prefix))
      return Fault("merge " + std::to_string(ranks) + " has part " +
                   quoted(right) + ", which does not begin with " +
                   quoted(options.prefix));
    rest.remove_prefix(options.prefix.size());
  }
  std::string whole = std::string(left) + std::string(rest);
  auto result = vocabulary.find(whole);
  if (!result)
    return Fault("merge " + std::to_string(ranks) + " makes " + quoted(whole) +
                 ", which is no token");
  merges.insert_or_assign(keyOf(*first, *second), Merge{ranks++, *result});
  return {};
}

Fault Bpe::finish() {
  if (options.unknown.empty())
    return {};
  unknown = vocabulary.find(options.unknown);
  return unknown ? Fault()
                 : Fault("the unknown token '" + options.unknown +
                         "' is not in the vocabulary");
}

void Bpe::splitCharacters(std::string_view piece,
                          std::vector<TokenId> &ids) const {
  bool unknownIsPending = false;
  auto flush = [&] {
    if (unknownIsPending)
      ids.push_back(*unknown);
    unknownIsPending = false;
  };
  forEachCharacter(piece, [&](int32_t, Span span) {
    std::string text(piece.substr(span.begin, span.end - span.begin));
    if (span.begin)
      text.insert(0, options.prefix);
    if (span.end == piece.size())
      text += options.suffix;
    if (auto id = vocabulary.find(text)) {
      flush();
      ids.push_back(*id);
      return;
    }
    // As in Hugging Face's tokenizers, a pending unknown token comes after
    // bytes.
    if (options.fallsBackToBytes && vocabulary.findBytes(text, ids))
      return;
    if (!unknown)
      return;
    if (!options.fusesUnknown)
      flush();
    unknownIsPending = true;
  });
  flush();
}

/// The parts of a piece while they are merged.
class Bpe::Merging {
public:
  Merging(const Bpe &bpe, std::vector<TokenId> ids) : bpe(bpe) {
    for (size_t at = 0; at < ids.size(); ++at)
      parts.push_back(
          {ids[at], int(at) - 1, at + 1 < ids.size() ? int(at) + 1 : -1, true});
    for (size_t at = 0; at + 1 < parts.size(); ++at)
      offer(int(at));
  }

  void run(std::vector<TokenId> &ids) {
    while (!candidates.empty()) {
      Candidate candidate = candidates.top();
      candidates.pop();
      mergeAt(candidate);
    }
    for (const Part &part : parts)
      if (part.isLive)
        ids.push_back(part.id);
  }

private:
  struct Part {
    TokenId id;
    int previous, next; ///< -1: none
    bool isLive;
  };
  struct Candidate {
    uint32_t rank;
    int left;
    TokenId result;

    bool operator<(const Candidate &other) const { // the last one is first
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  const Merge *mergeOf(int left) const {
    int right = parts[size_t(left)].next;
    if (right < 0)
      return nullptr;
    auto found =
        bpe.merges.find(keyOf(parts[size_t(left)].id, parts[size_t(right)].id));
    return found == bpe.merges.end() ? nullptr : &found->second;
  }

  void offer(int left) {
    if (const Merge *merge = left < 0 ? nullptr : mergeOf(left))
      candidates.push({merge->rank, left, merge->result});
  }

  void mergeAt(const Candidate &candidate) {
    Part &left = parts[size_t(candidate.left)];
    const Merge *merge = left.isLive ? mergeOf(candidate.left) : nullptr;
    // A part has changed since.
    if (!merge || merge->result != candidate.result)
      return;
    Part &right = parts[size_t(left.next)];
    right.isLive = false;
    left.id = candidate.result;
    left.next = right.next;
    if (left.next >= 0)
      parts[size_t(left.next)].previous = candidate.left;
    offer(left.previous);
    offer(candidate.left);
  }

  const Bpe &bpe;
  std::vector<Part> parts;
  std::priority_queue<Candidate> candidates;
};

Fault Bpe::tokenize(std::string_view piece, std::vector<TokenId> &ids) const {
  if (options.takesWholePieces)
    if (auto id = vocabulary.find(piece)) {
      ids.push_back(*id);
      return {};
    }
  std::vector<TokenId> characters;
  splitCharacters(piece, characters);
  Merging(*this, std::move(characters)).run(ids);
  return {};
}
