//===- ReadSplitter.cpp - Read tokenizer.json's "pre_tokenizer" -----------===//

#include "tools/tokenizer/Pattern.h"
#include "tools/tokenizer/Splitter.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

static Fault readOnMatch(const Node &node, OnMatch &onMatch) {
  std::string name;
  if (Fault fault = node.read(name))
    return fault;
  static constexpr std::pair<std::string_view, OnMatch> names[] = {
      {"Isolated", OnMatch::isolate},
      {"Removed", OnMatch::remove},
      {"MergedWithPrevious", OnMatch::mergeWithPrevious},
      {"MergedWithNext", OnMatch::mergeWithNext},
      {"Contiguous", OnMatch::joinMatches}};
  for (auto [known, value] : names)
    if (name == known) {
      onMatch = value;
      return {};
    }
  return node.fault("unknown behavior '" + name + "'");
}

static Fault addSplit(const Node &node, Splitter &splitter) {
  Regex regex;
  OnMatch onMatch;
  bool inverted = false;
  if (Fault fault = readPattern(node["pattern"], regex))
    return fault;
  if (Fault fault = readOnMatch(node["behavior"], onMatch))
    return fault;
  if (Fault fault = node["invert"].readOptional(inverted))
    return fault;
  splitter.push_back(splitAt(regex, onMatch, inverted));
  return {};
}

static Fault addByteLevel(const Node &node, Splitter &splitter) {
  bool addsSpace = true, splits = true;
  if (Fault fault = node["add_prefix_space"].readOptional(addsSpace))
    return fault;
  if (Fault fault = node["use_regex"].readOptional(splits))
    return fault;
  if (addsSpace)
    splitter.push_back([](std::vector<Piece> &pieces) {
      for (Piece &piece : pieces)
        if (!piece.text.starts_with(' '))
          piece.text.insert(0, " ");
      return Fault();
    });
  if (splits)
    if (Fault fault = addGpt2Split(splitter))
      return fault;
  splitter.push_back(mapBytes());
  return {};
}

static Fault addMetaspaceOf(const Node &node, Splitter &splitter) {
  std::string replacement = "\u2581", scheme;
  bool addsSpace = true, splits = true;
  if (Fault fault = node["replacement"].readOptional(replacement))
    return fault;
  if (Fault fault = node["add_prefix_space"].readOptional(addsSpace))
    return fault;
  if (Fault fault = node["split"].readOptional(splits))
    return fault;
  if (Fault fault = node["prepend_scheme"].readOptional(scheme))
    return fault;
  if (replacement.empty())
    return node["replacement"].fault("it is empty");
  if (scheme.empty())
    scheme = addsSpace ? "always" : "never";
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return node["prepend_scheme"].fault(
        "expected always, first or never, not '" + scheme + "'");
  Prepend prepend = scheme == "always"  ? Prepend::always
                    : scheme == "first" ? Prepend::first
                                        : Prepend::never;
  addMetaspace(replacement, prepend, splits, splitter);
  return {};
}

static Fault addPunctuation(const Node &node, Splitter &splitter) {
  OnMatch onMatch = OnMatch::isolate;
  if (!node["behavior"].isNull())
    if (Fault fault = readOnMatch(node["behavior"], onMatch))
      return fault;
  splitter.push_back(splitAt(isPunctuation, onMatch));
  return {};
}

static Fault addDigits(const Node &node, Splitter &splitter) {
  bool individually = false;
  if (Fault fault = node["individual_digits"].readOptional(individually))
    return fault;
  splitter.push_back(splitAt(isNumeric, individually ? OnMatch::isolate
                                                     : OnMatch::joinMatches));
  return {};
}

static Fault addDelimiter(const Node &node, Splitter &splitter) {
  std::string delimiter;
  if (Fault fault = node["delimiter"].read(delimiter))
    return fault;
  splitter.push_back(splitAt(Regex::literal(delimiter), OnMatch::remove));
  return {};
}

/// Words, and runs of other characters without white space. Joiners are parts
/// of words, which they are not for expressions of files.
static Fault addWhitespace(Splitter &splitter) {
  Regex regex;
  if (Fault fault = Regex::compile(
          R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)", regex))
    return fault;
  splitter.push_back(splitAt(regex, OnMatch::remove, /*inverted=*/true));
  return {};
}

static Fault readSplitterStep(const Node &node, const std::string &type,
                              Splitter &splitter) {
  if (type == "Split")
    return addSplit(node, splitter);
  if (type == "ByteLevel")
    return addByteLevel(node, splitter);
  if (type == "Metaspace")
    return addMetaspaceOf(node, splitter);
  if (type == "Punctuation")
    return addPunctuation(node, splitter);
  if (type == "Digits")
    return addDigits(node, splitter);
  if (type == "CharDelimiterSplit")
    return addDelimiter(node, splitter);
  if (type == "Whitespace")
    return addWhitespace(splitter);
  if (type == "WhitespaceSplit")
    splitter.push_back(splitAt(isSpace, OnMatch::remove));
  else if (type == "BertPreTokenizer") {
    splitter.push_back(splitAt(isSpace, OnMatch::remove));
    splitter.push_back(splitAt(isPunctuation, OnMatch::isolate));
  } else
    return node.fault(
        "pre-tokenizer '" + type +
        "' is not supported; Split, ByteLevel, Metaspace, Punctuation, Digits, "
        "CharDelimiterSplit, Whitespace, WhitespaceSplit, BertPreTokenizer and "
        "Sequence are");
  return {};
}

Fault frit::tokenizer::readSplitter(const Node &node, Splitter &splitter) {
  return readSteps(node, "pretokenizers",
                   [&](const Node &step, const std::string &type) {
                     return readSplitterStep(step, type, splitter);
                   });
}
