//===- Determinize.cpp - Deterministic automata of regular expressions ----===//
//
// A state is a set of states of the nondeterministic automaton, in which
// assertions still wait for the next byte, and the kind of the last byte.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/strings/Regex.h"

#include "frit/artifact_strings.h"

#include "llvm/ADT/StringExtras.h"

#include <bitset>
#include <map>

using namespace llvm;
using namespace frit;
using namespace frit::importer;

namespace {

/// What precedes or follows a place in a string.
enum Side : uint8_t { nothing, word, other };

constexpr size_t kMostBytes = 1 << 20;
constexpr uint64_t kMostWork = 100'000'000;

class Determinizer {
public:
  explicit Determinizer(const Nfa &nfa) : nfa(nfa), seen(nfa.states.size()) {}

  Expected<std::string> run();

private:
  struct Key {
    std::vector<unsigned> set; ///< ascending
    Side before;
    auto operator<=>(const Key &) const = default;
  };

  void findClasses();
  uint16_t stateFor(Key key);
  std::vector<unsigned> closure(const std::vector<unsigned> &set, Side before,
                                Side after);
  bool holds(Nfa::Kind kind, Side before, Side after) const;
  static Side sideOf(uint8_t byte) {
    return byte < 0x80 && (isAlnum(char(byte)) || byte == '_') ? word : other;
  }

  const Nfa &nfa;
  bool hasBoundaries = false;
  artifact::Automaton head;
  SmallVector<uint8_t> examples; ///< a byte of each class
  std::map<Key, uint16_t> numbers;
  std::vector<Key> states;
  std::vector<bool> seen;
  uint64_t work = 0;
};

} // namespace

/// Finds the classes of bytes that no state tells apart.
void Determinizer::findClasses() {
  std::bitset<257> begins;
  begins[0] = true;
  for (const Nfa::State &state : nfa.states) {
    if (state.kind == Nfa::bytes) {
      begins[state.low] = true;
      begins[state.high + 1] = true;
    }
    hasBoundaries |=
        state.kind == Nfa::boundary || state.kind == Nfa::notBoundary;
  }
  for (unsigned byte = 1; hasBoundaries && byte < 256; ++byte)
    if (sideOf(byte) != sideOf(byte - 1))
      begins[byte] = true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (begins[byte])
      examples.push_back(byte);
    head.classOf[byte] = examples.size() - 1;
  }
  head.classes = examples.size() + 1;
}

bool Determinizer::holds(Nfa::Kind kind, Side before, Side after) const {
  bool isBoundary = (before == word) != (after == word);
  switch (kind) {
  case Nfa::textBegin:
    return before == nothing;
  case Nfa::textEnd:
    return after == nothing;
  case Nfa::boundary:
    return isBoundary;
  default:
    return !isBoundary;
  }
}

/// Returns the states that take a byte or accept, and are reached from `set`.
std::vector<unsigned> Determinizer::closure(const std::vector<unsigned> &set,
                                            Side before, Side after) {
  std::vector<unsigned> result, left = set;
  std::fill(seen.begin(), seen.end(), false);
  work += seen.size() / 8;
  while (!left.empty()) {
    unsigned index = left.back();
    left.pop_back();
    ++work;
    if (seen[index])
      continue;
    seen[index] = true;
    const Nfa::State &state = nfa.states[index];
    if (state.kind == Nfa::bytes || state.kind == Nfa::accept) {
      result.push_back(index);
    } else if (state.kind == Nfa::split) {
      left.push_back(state.next);
      left.push_back(state.other);
    } else if (holds(state.kind, before, after)) {
      left.push_back(state.next);
    }
  }
  return result;
}

uint16_t Determinizer::stateFor(Key key) {
  auto [it, isNew] = numbers.try_emplace(std::move(key), states.size());
  if (isNew)
    states.push_back(it->first);
  return it->second;
}

Expected<std::string> Determinizer::run() {
  findClasses();
  stateFor({{nfa.start}, nothing});
  std::vector<uint16_t> table;
  for (size_t i = 0; i < states.size(); ++i) {
    // Each state adds at most one for every byte.
    if (table.size() * 2 > kMostBytes || work > kMostWork ||
        states.size() + 256 >= artifact::kNoState)
      return createStringError(
          "its automaton is larger than 1 MiB; write it with fewer or smaller "
          "repetitions");
    Key from = states[i];
    for (uint8_t byte : examples) {
      Side after = sideOf(byte);
      std::vector<unsigned> next;
      for (unsigned index : closure(from.set, from.before, after)) {
        const Nfa::State &state = nfa.states[index];
        if (state.kind == Nfa::bytes && byte >= state.low && byte <= state.high)
          next.push_back(state.next);
      }
      llvm::sort(next);
      next.erase(std::unique(next.begin(), next.end()), next.end());
      // What precedes matters to boundaries only, once something does.
      table.push_back(next.empty() ? artifact::kNoState
                                   : stateFor({std::move(next),
                                               hasBoundaries ? after : other}));
    }
    bool accepts =
        llvm::any_of(closure(from.set, from.before, nothing), [&](unsigned s) {
          return nfa.states[s].kind == Nfa::accept;
        });
    table.push_back(accepts ? 0 : artifact::kNoState);
  }
  head.states = states.size();
  std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
  bytes.append(reinterpret_cast<const char *>(table.data()), table.size() * 2);
  return bytes;
}

Expected<std::string> frit::importer::determinize(const Nfa &nfa) {
  return Determinizer(nfa).run();
}
