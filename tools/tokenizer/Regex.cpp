//===- Regex.cpp - Regular expressions of tokenizers ----------------------===//

#include "tools/tokenizer/Regex.h"

#include <algorithm>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace frit::tokenizer;
using frit::tools::Fault;

// Far more than any tokenizer's, and few enough for an answer within seconds.
static constexpr size_t kMostPattern = 1 << 16;
/// Steps of one search, and those for each byte of the text.
static constexpr uint32_t kLeastSteps = 100'000, kStepsPerByte = 64;
static constexpr uint32_t kMostHeap = 256 << 10; // KiB
static constexpr size_t kMostJitStack = 16 << 20;
static constexpr size_t kMostText = 1 << 30;

// PCRE2's \w lacks marks and connectors, and its \s has U+180E. Oniguruma's \w
// has Latin-1's numbers outside of classes only.
static constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
static constexpr std::string_view kLatinNumbers =
    R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
static constexpr std::string_view kSpace = R"(\t-\r\x{20}\x{85}\p{Z})";

namespace {

/// Rewrites Oniguruma's syntax to PCRE2's.
class Translation {
public:
  explicit Translation(std::string_view pattern) : from(pattern) {}

  Fault run(std::string &pattern) {
    while (at < from.size())
      if (Fault fault = translateOne())
        return fault;
    pattern = std::move(to);
    return {};
  }

private:
  Fault translateOne() {
    char c = from[at];
    if (c == '\\' && at + 1 < from.size()) {
      translateEscape(from[at + 1]);
      at += 2;
      return {};
    }
    if (inClass && c == '[' && !from.substr(at).starts_with("[:"))
      return Fault("a class within a class is not supported: " +
                   std::string(from.substr(at, 20)));
    if (inClass && from.substr(at).starts_with("&&"))
      return Fault("an intersection of classes is not supported");
    if (inClass && c == '[') { // [:name:]
      size_t end = from.find(":]", at);
      if (end == from.npos)
        return Fault("a class of characters does not end");
      to += from.substr(at, end + 2 - at);
      at = end + 2;
      return {};
    }
    if (!inClass && c == '[') {
      inClass = true;
      size_t start = at++;
      if (at < from.size() && from[at] == '^')
        ++at;
      if (at < from.size() && from[at] == ']') // is literal here
        ++at;
      to += from.substr(start, at - start);
      return {};
    }
    if (inClass && c == ']')
      inClass = false;
    to += c;
    ++at;
    return {};
  }

  void translateEscape(char c) {
    bool isNegated = c == 'W' || c == 'S';
    if ((c != 'w' && c != 's' && !isNegated) || (inClass && isNegated)) {
      to += '\\';
      to += c;
      return;
    }
    bool isWord = c == 'w' || c == 'W';
    if (!inClass)
      to += isNegated ? "[^" : "[";
    to += isWord ? kWord : kSpace;
    if (!inClass && isWord)
      to += kLatinNumbers;
    if (!inClass)
      to += ']';
  }

  std::string_view from;
  std::string to;
  size_t at = 0;
  bool inClass = false;
};

/// One call's memory for matches.
struct Matching {
  Matching(const pcre2_code *code, size_t bytes)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(32 << 10, kMostJitStack, nullptr)) {
    if (!isMade())
      return;
    size_t steps =
        kLeastSteps + std::min<size_t>(bytes, 1 << 24) * kStepsPerByte;
    pcre2_set_match_limit(context, uint32_t(steps));
    pcre2_set_heap_limit(context, kMostHeap);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Matching() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Matching(const Matching &) = delete;

  bool isMade() const { return data && context && stack; }

  pcre2_match_data *data;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
};

} // namespace

static std::string messageOf(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0)
    return "error " + std::to_string(code);
  return reinterpret_cast<const char *>(text);
}

static Fault compileTranslated(std::string_view pattern,
                               std::shared_ptr<const void> &result) {
  if (pattern.size() > kMostPattern)
    return Fault("a regular expression of " + std::to_string(pattern.size()) +
                 " bytes; " + std::to_string(kMostPattern) + " at most");
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code *code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
      &place, nullptr);
  if (!code)
    return Fault("the regular expression '" + std::string(pattern) +
                 "' is wrong at byte " + std::to_string(place) + ": " +
                 messageOf(error));
  // Without it, matching is slower.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  result = std::shared_ptr<const void>(code, [](const void *owned) {
    pcre2_code_free(static_cast<pcre2_code *>(const_cast<void *>(owned)));
  });
  return {};
}

Fault Regex::compile(std::string_view pattern, Regex &regex) {
  std::string translated;
  if (Fault fault = Translation(pattern).run(translated))
    return fault.within("the regular expression '" + std::string(pattern) +
                        "'");
  return compileTranslated(translated, regex.code);
}

Regex Regex::literal(std::string text) {
  Regex regex;
  regex.text = std::move(text);
  return regex;
}

static void findLiteral(std::string_view literal, std::string_view text,
                        std::vector<Span> &matches) {
  if (literal.empty())
    return;
  for (size_t at = 0; (at = text.find(literal, at)) != text.npos;) {
    matches.push_back({at, at + literal.size()});
    at += literal.size();
  }
}

/// Returns PCRE2's code of the search from `at`. A run that needs more stack
/// than compiled code has is repeated without compiled code.
static int search(const pcre2_code *code, std::string_view text, size_t at,
                  Matching &matching) {
  auto run = [&](uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), at, options | PCRE2_NO_UTF_CHECK,
                       matching.data, matching.context);
  };
  int found = run(0);
  return found == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : found;
}

Fault Regex::findAll(std::string_view in, std::vector<Span> &matches) const {
  if (!code) {
    findLiteral(text, in, matches);
    return {};
  }
  auto *compiled = static_cast<const pcre2_code *>(code.get());
  Matching matching(compiled, in.size());
  if (!matching.isMade())
    return Fault("out of memory", tools::kMachine);
  size_t lastEnd = in.npos;
  for (size_t at = 0; at <= in.size();) {
    int found = search(compiled, in, at, matching);
    if (found == PCRE2_ERROR_NOMATCH)
      return {};
    if (found < 0)
      return Fault("a regular expression of the tokenizer cannot be matched: " +
                   messageOf(found));
    PCRE2_SIZE *range = pcre2_get_ovector_pointer(matching.data);
    size_t begin = range[0], end = range[1];
    if (begin > end || end < at)
      return Fault("a regular expression of the tokenizer sets the start of a "
                   "match after its end");
    if (begin == end && end == lastEnd) {
      at = end + (end < in.size() ? characterAt(in, end).bytes : 1);
      continue;
    }
    if (lastEnd != in.npos && begin < lastEnd)
      return Fault("matches of a regular expression overlap");
    matches.push_back({begin, end});
    at = lastEnd = end;
  }
  return {};
}

Fault Regex::replaceAll(std::string &in, std::string_view by) const {
  std::vector<Span> matches;
  if (Fault fault = findAll(in, matches))
    return fault;
  if (matches.empty())
    return {};
  if (!by.empty() && matches.size() > kMostText / by.size())
    return Fault("replacing '" + std::string(by.substr(0, 20)) +
                 "' makes more than 1 GiB of text");
  std::string result;
  size_t at = 0;
  for (Span match : matches) {
    result.append(in, at, match.begin - at).append(by);
    at = match.end;
  }
  result.append(in, at);
  in = std::move(result);
  return {};
}
