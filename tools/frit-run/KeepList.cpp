//===- KeepList.cpp - Names of nodes for -fkeep-fp32 ----------------------===//

#include "KeepList.h"

#include <string_view>
#include <vector>

using namespace frit::run;

/// Returns whether the operator in brackets at `at`, such as "(Gemm, opset
/// 17)", ends a node.
static bool endsNode(std::string_view text, size_t at) {
  size_t close = text.find(')', at);
  if (close == text.npos || text.substr(at, close - at).find('\'') != text.npos)
    return false;
  std::string_view rest = text.substr(close + 1);
  return rest.empty() || rest.starts_with(", ");
}

/// Returns the names in a step's nodes. They may contain quotes and brackets.
static std::vector<std::string> namesIn(const std::string &nodes) {
  constexpr std::string_view kOpen = "node '", kClose = "' (";
  std::vector<std::string> names;
  for (size_t at = 0; (at = nodes.find(kOpen, at)) != nodes.npos;) {
    at += kOpen.size();
    size_t end = nodes.find(kClose, at);
    while (end != nodes.npos && !endsNode(nodes, end + 2))
      end = nodes.find(kClose, end + 1);
    if (end == nodes.npos)
      break;
    names.push_back(nodes.substr(at, end - at));
    at = nodes.find(')', end);
  }
  return names;
}

/// Returns the line that matches only `name`. Line breaks, which a line cannot
/// contain, become "?".
static std::string patternOf(const std::string &name) {
  constexpr std::string_view kSpaces = " \t\v\f", kSpecial = "*?[\\";
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    bool isEnd = i == 0 || i + 1 == name.size();
    if (c == '\n' || c == '\r')
      pattern += '?';
    else if (isEnd && kSpaces.find(c) != kSpaces.npos)
      pattern += std::string("[") + c + "]"; // not trimmed
    else if (kSpecial.find(c) != kSpecial.npos || (i == 0 && c == '#'))
      pattern += std::string("\\") + c;
    else
      pattern += c;
  }
  return pattern;
}

void KeepList::add(const std::string &nodes) {
  for (const std::string &name : namesIn(nodes))
    if (names.insert(name).second)
      lines += patternOf(name) + "\n";
}
