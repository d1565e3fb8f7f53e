//===- Regex.cpp - Automata of regular expressions ------------------------===//

#include "compiler/onnx/strings/Regex.h"
#include "compiler/onnx/strings/Pattern.h"

#include <optional>

using namespace llvm;
using namespace frit::importer;

static constexpr size_t kMostStates = 20000;

namespace {
/// Adds a part's states to an automaton. They end in `next`.
class NfaBuilder {
public:
  Expected<Nfa> run(const Part &part) {
    unsigned end = add({Nfa::accept});
    nfa.start = build(part, end);
    if (nfa.states.size() > kMostStates)
      return createStringError("it is too large");
    return std::move(nfa);
  }

private:
  unsigned add(Nfa::State state) {
    if (nfa.states.size() <= kMostStates)
      nfa.states.push_back(state);
    return nfa.states.size() - 1;
  }
  unsigned build(const Part &part, unsigned next);
  unsigned buildRepetition(const Part &part, unsigned next);

  Nfa nfa;
};
} // namespace

unsigned NfaBuilder::build(const Part &part, unsigned next) {
  if (nfa.states.size() > kMostStates)
    return next;
  switch (part.kind) {
  case Part::characters: {
    std::optional<unsigned> start;
    part.set.visitUtf8([&](ArrayRef<CharacterSet::ByteRange> range) {
      unsigned at = next;
      for (CharacterSet::ByteRange byte : llvm::reverse(range))
        at = add({Nfa::bytes, byte.low, byte.high, at});
      start = start ? add({Nfa::split, 0, 0, at, *start}) : at;
    });
    // No character at all: an assertion that cannot hold.
    return start ? *start : add({Nfa::bytes, 1, 0, next});
  }
  case Part::assertion:
    return add({part.asserted, 0, 0, next});
  case Part::sequence:
    for (const PartPtr &inner : llvm::reverse(part.parts))
      next = build(*inner, next);
    return next;
  case Part::choice: {
    unsigned start = build(*part.parts.back(), next);
    for (const PartPtr &inner : llvm::drop_begin(llvm::reverse(part.parts)))
      start = add({Nfa::split, 0, 0, build(*inner, next), start});
    return start;
  }
  case Part::repetition:
    return buildRepetition(part, next);
  }
  llvm_unreachable("all kinds are handled");
}

unsigned NfaBuilder::buildRepetition(const Part &part, unsigned next) {
  const Part &inner = *part.parts.front();
  unsigned start = next;
  if (part.most < 0) {
    start = add({Nfa::split, 0, 0, 0, next});
    unsigned body = build(inner, start);
    nfa.states[start].next = body;
  }
  for (int i = part.least; i < part.most; ++i)
    start = add({Nfa::split, 0, 0, build(inner, start), next});
  for (int i = 0; i < part.least; ++i)
    start = build(inner, start);
  return start;
}

Expected<Nfa> frit::importer::parseRegex(StringRef pattern) {
  auto part = parsePattern(pattern);
  if (!part)
    return part.takeError();
  return NfaBuilder().run(**part);
}
