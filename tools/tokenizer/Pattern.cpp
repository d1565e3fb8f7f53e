//===- Pattern.cpp - Patterns of normalizers, splitters and decoders ------===//

#include "tools/tokenizer/Pattern.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

Fault frit::tokenizer::readPattern(const Node &node, Regex &regex) {
  std::string text;
  bool isLiteral = node.isText() || node["String"].isText();
  const Node value = node.isText() ? node
                     : isLiteral   ? node["String"]
                                   : node["Regex"];
  if (Fault fault = value.read(text))
    return fault;
  if (isLiteral) {
    regex = Regex::literal(std::move(text));
    return {};
  }
  Fault fault = Regex::compile(text, regex);
  return fault ? node.fault(fault.message()) : Fault();
}
