//===- Normalizer.cpp - What is done to a text before it is split ---------===//

#include "tools/tokenizer/Normalizer.h"
#include "tools/tokenizer/ByteLevel.h"
#include "tools/tokenizer/Pattern.h"
#include "tools/tokenizer/Precompiled.h"

#include <utf8proc.h>

using namespace frit::tokenizer;
using frit::tools::Fault;

static Fault lowercase(std::string &text) {
  std::string result;
  forEachCharacter(text, [&](int32_t code, Span) {
    if (code == 0x130) // the one character whose lowercase is two
      result += "i\u0307";
    else
      appendCharacter(result, utf8proc_tolower(code));
  });
  text = std::move(result);
  return {};
}

static Fault stripAccents(std::string &text) {
  std::string result;
  forEachCharacter(text, [&](int32_t code, Span span) {
    if (!isMark(code))
      result.append(text, span.begin, span.end - span.begin);
  });
  text = std::move(result);
  return {};
}

static Fault strip(std::string &text, bool left, bool right) {
  size_t begin = text.size(), end = 0;
  forEachCharacter(text, [&](int32_t code, Span span) {
    if (isSpace(code))
      return;
    begin = std::min(begin, span.begin);
    end = span.end;
  });
  if (right)
    text.resize(end);
  if (left)
    text.erase(0, std::min(begin, text.size()));
  return {};
}

static Fault addForm(Form form, Normalizer &normalizer) {
  normalizer.push_back([form](std::string &text) {
    normalizeForm(text, form);
    return Fault();
  });
  return {};
}

static Fault addStrip(const Node &node, Normalizer &normalizer) {
  bool left = true, right = true;
  if (Fault fault = node["strip_left"].readOptional(left))
    return fault;
  if (Fault fault = node["strip_right"].readOptional(right))
    return fault;
  normalizer.push_back(
      [=](std::string &text) { return strip(text, left, right); });
  return {};
}

static Fault addPrepend(const Node &node, Normalizer &normalizer) {
  std::string before;
  if (Fault fault = node["prepend"].read(before))
    return fault;
  normalizer.push_back([before](std::string &text) {
    if (!text.empty())
      text.insert(0, before);
    return Fault();
  });
  return {};
}

static Fault addReplace(const Node &node, Normalizer &normalizer) {
  Regex regex;
  std::string by;
  if (Fault fault = readPattern(node["pattern"], regex))
    return fault;
  if (Fault fault = node["content"].read(by))
    return fault;
  normalizer.push_back(
      [=](std::string &text) { return regex.replaceAll(text, by); });
  return {};
}

static Fault addPrecompiled(const Node &node, Normalizer &normalizer) {
  std::string encoded;
  if (Fault fault = node["precompiled_charsmap"].readOptional(encoded))
    return fault;
  auto map = std::make_shared<Precompiled>();
  if (Fault fault = map->readBase64(encoded))
    return node["precompiled_charsmap"].fault(fault.message());
  normalizer.push_back([map](std::string &text) {
    map->apply(text);
    return Fault();
  });
  return {};
}

static Fault readNormalizerStep(const Node &node, const std::string &type,
                                Normalizer &normalizer) {
  if (type == "NFC")
    return addForm(Form::nfc, normalizer);
  if (type == "NFD")
    return addForm(Form::nfd, normalizer);
  if (type == "NFKC")
    return addForm(Form::nfkc, normalizer);
  if (type == "NFKD")
    return addForm(Form::nfkd, normalizer);
  if (type == "Strip")
    return addStrip(node, normalizer);
  if (type == "Prepend")
    return addPrepend(node, normalizer);
  if (type == "Replace")
    return addReplace(node, normalizer);
  if (type == "Precompiled")
    return addPrecompiled(node, normalizer);
  if (type == "Lowercase")
    normalizer.push_back(lowercase);
  else if (type == "StripAccents")
    normalizer.push_back(stripAccents);
  else if (type == "ByteLevel")
    normalizer.push_back([](std::string &text) {
      text = toByteCharacters(text);
      return Fault();
    });
  else
    return node.fault("normalizer '" + type +
                      "' is not supported; NFC, NFD, NFKC, NFKD, Lowercase, "
                      "StripAccents, Strip, Prepend, Replace, Precompiled, "
                      "ByteLevel and Sequence are");
  return {};
}

Fault frit::tokenizer::readNormalizer(const Node &node,
                                      Normalizer &normalizer) {
  return readSteps(node, "normalizers",
                   [&](const Node &step, const std::string &type) {
                     return readNormalizerStep(step, type, normalizer);
                   });
}

Fault frit::tokenizer::normalize(const Normalizer &normalizer,
                                 std::string &text) {
  for (const NormalizerStep &step : normalizer)
    if (Fault fault = step(text))
      return fault;
  return {};
}
