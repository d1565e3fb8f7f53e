//===- StringSteps.cpp - What a model computes from strings ---------------===//

#include "runtime/strings/StringSteps.h"
#include "runtime/strings/Utf8.h"

#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

using namespace frit;
using artifact::StringOp;
using artifact::StringStep;

//===----------------------------------------------------------------------===//
// StringConcat
//===----------------------------------------------------------------------===//

/// Computes the shape that both operands broadcast to. Returns false if there
/// is none.
static bool broadcast(std::span<const int64_t> a, std::span<const int64_t> b,
                      std::vector<int64_t> &dims) {
  if (a.size() < b.size())
    std::swap(a, b);
  dims.assign(a.begin(), a.end());
  size_t added = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &size = dims[added + i];
    if (size == 1)
      size = b[i];
    else if (b[i] != 1 && b[i] != size)
      return false;
  }
  return true;
}

/// Returns the place in an operand of element `index` of a result of shape
/// `dims`.
static uint64_t placeIn(std::span<const int64_t> operand,
                        std::span<const int64_t> dims, uint64_t index) {
  uint64_t place = 0, stride = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    uint64_t at = index % uint64_t(dims[dims.size() - 1 - i]);
    index /= uint64_t(dims[dims.size() - 1 - i]);
    if (i >= operand.size())
      continue;
    int64_t size = operand[operand.size() - 1 - i];
    place += size == 1 ? 0 : at * stride;
    stride *= uint64_t(size);
  }
  return place;
}

static Status concat(StringsView a, StringsView b, StringNumbers &numbers,
                     HostTensor &result) {
  uint64_t count;
  if (!broadcast(a.dims, b.dims, result.dims) ||
      !countElements(result.dims, count))
    return invalidArgument("its operands' shapes do not match");
  result.numbers.resize(count);
  std::string text;
  for (uint64_t i = 0; i < count; ++i) {
    text = numbers.text(a.numbers[placeIn(a.dims, result.dims, i)]);
    text += numbers.text(b.numbers[placeIn(b.dims, result.dims, i)]);
    if (text.size() > artifact::kMostStringBytes)
      return invalidArgument(
          format("a string of its result would have %zu bytes; %llu are the "
                 "most",
                 text.size(),
                 static_cast<unsigned long long>(artifact::kMostStringBytes)));
    FRIT_TRY(numbers.add(text, result.numbers[i]));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// RegexFullMatch
//===----------------------------------------------------------------------===//

bool frit::matches(std::span<const uint8_t> bytes, std::string_view text) {
  artifact::Automaton head;
  memcpy(&head, bytes.data(), sizeof head);
  const uint8_t *table = bytes.data() + sizeof head;
  auto next = [&](uint16_t state, uint32_t kind) {
    uint16_t found;
    memcpy(&found, table + (uint64_t(state) * head.classes + kind) * 2,
           sizeof found);
    return found;
  };
  uint16_t state = 0;
  for (char c : text) {
    state = next(state, head.classOf[uint8_t(c)]);
    if (state == artifact::kNoState)
      return false;
  }
  return next(state, head.classes - 1) != artifact::kNoState;
}

static void match(std::span<const uint8_t> automaton, StringsView x,
                  const StringNumbers &numbers, HostTensor &result) {
  result.dims.assign(x.dims.begin(), x.dims.end());
  result.flags.clear();
  for (int64_t number : x.numbers)
    result.flags.push_back(matches(automaton, numbers.text(number)));
}

//===----------------------------------------------------------------------===//
// StringSplit
//===----------------------------------------------------------------------===//

/// Splits a text at a delimiter, at most `most` times.
static void splitAt(std::string_view text, std::string_view delimiter,
                    int64_t most, std::vector<std::string_view> &parts) {
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    size_t found = text.find(delimiter);
    if (found == text.npos)
      break;
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + delimiter.size());
  }
  parts.push_back(text);
}

/// Removes the leading characters that are spaces, or that are none. Returns
/// them.
static std::string_view takeWhile(std::string_view &text, bool areSpaces) {
  std::string_view all = text;
  while (!text.empty()) {
    std::string_view rest = text;
    if (isSpace(takeCharacter(rest)) != areSpaces)
      break;
    text = rest;
  }
  return all.substr(0, all.size() - text.size());
}

/// Splits a text at whitespace, at most `most` times: the rest begins with a
/// word. There are no empty parts.
static void splitWords(std::string_view text, int64_t most,
                       std::vector<std::string_view> &parts) {
  takeWhile(text, /*areSpaces=*/true);
  for (int64_t done = 0; !text.empty() && (most < 0 || done < most); ++done) {
    parts.push_back(takeWhile(text, /*areSpaces=*/false));
    takeWhile(text, /*areSpaces=*/true);
  }
  if (!text.empty())
    parts.push_back(text);
}

static Status split(StringsView x, std::string_view delimiter, int64_t most,
                    int64_t limit, StringNumbers &numbers,
                    std::span<HostTensor> results) {
  std::vector<std::string_view> parts;
  std::vector<size_t> ends;
  size_t longest = 0;
  for (int64_t number : x.numbers) {
    size_t begin = parts.size();
    if (delimiter.empty())
      splitWords(numbers.text(number), most, parts);
    else
      splitAt(numbers.text(number), delimiter, most, parts);
    ends.push_back(parts.size());
    longest = std::max(longest, parts.size() - begin);
    if (longest > size_t(limit))
      return invalidArgument(
          format("a string has %zu parts, and the model holds %lld: compile it "
                 "with -fbound=NODE:%zu for this node",
                 longest, static_cast<long long>(limit), longest));
  }
  HostTensor &all = results[0], &counts = results[1], &width = results[2];
  all.dims.assign(x.dims.begin(), x.dims.end());
  counts.dims = all.dims;
  all.dims.push_back(int64_t(longest));
  int64_t nothing;
  FRIT_TRY(numbers.add("", nothing));
  all.numbers.assign(x.numbers.size() * longest, nothing);
  counts.numbers.clear();
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); begin = ends[i++]) {
    for (size_t part = begin; part < ends[i]; ++part)
      FRIT_TRY(
          numbers.add(parts[part], all.numbers[i * longest + (part - begin)]));
    counts.numbers.push_back(int64_t(ends[i] - begin));
  }
  width.dims.clear();
  width.numbers = {int64_t(longest)};
  return Status();
}

//===----------------------------------------------------------------------===//
// StringNormalizer
//===----------------------------------------------------------------------===//

static Status normalize(const StringStep &step, StringsView x,
                        std::span<const int64_t> stopWords,
                        StringNumbers &numbers, std::span<HostTensor> results) {
  bool isSensitive = step.flags & artifact::kCaseSensitive;
  std::unordered_set<std::string> stops;
  for (int64_t number : stopWords) {
    std::string_view word = numbers.text(number);
    stops.insert(isSensitive ? std::string(word) : lowerCase(word));
  }
  HostTensor &kept = results[0];
  kept.numbers.clear();
  for (int64_t number : x.numbers) {
    std::string word(numbers.text(number));
    if (stops.contains(isSensitive ? word : lowerCase(word)))
      continue;
    if (step.flags & artifact::kToLower)
      word = lowerCase(word);
    else if (step.flags & artifact::kToUpper)
      word = upperCase(word);
    FRIT_TRY(numbers.add(word, kept.numbers.emplace_back()));
  }
  // Without any string, ONNX wants an empty one.
  if (kept.numbers.empty())
    FRIT_TRY(numbers.add("", kept.numbers.emplace_back()));
  kept.dims.assign(x.dims.begin(), x.dims.end());
  kept.dims.back() = int64_t(kept.numbers.size());
  results[1].dims.clear();
  results[1].numbers = {int64_t(kept.numbers.size())};
  return Status();
}

Status frit::computeStrings(const PlanView &plan, const StringStep &step,
                            std::span<const StringsView> operands,
                            int64_t parts, StringNumbers &numbers,
                            std::span<HostTensor> results) {
  std::span<const int64_t> texts = plan.dims(step.texts);
  switch (step.op) {
  case StringOp::concat:
    return concat(operands[0], operands[1], numbers, results[0]);
  case StringOp::match:
    match(plan.bytes(step.automaton), operands[0], numbers, results[0]);
    return Status();
  case StringOp::split:
    return split(operands[0],
                 texts.empty() ? std::string_view() : numbers.text(texts[0]),
                 step.most, parts, numbers, results);
  case StringOp::normalize:
    return normalize(step, operands[0], texts, numbers, results);
  }
  return Status(FRIT_BAD_MODEL, "the model's plan is damaged: a string step of "
                                "an unknown kind");
}
