//===- ReadDecoder.cpp - Read tokenizer.json's "decoder" ------------------===//

#include "tools/tokenizer/Decoder.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

static Fault addReplaceDecoder(const Node &node, Decoder &decoder) {
  Regex regex;
  std::string by;
  if (Fault fault = readPattern(node["pattern"], regex))
    return fault;
  if (Fault fault = node["content"].read(by))
    return fault;
  decoder.steps.push_back(decodeReplace(std::move(regex), std::move(by)));
  return {};
}

static Fault addStripDecoder(const Node &node, Decoder &decoder) {
  std::string character;
  uint32_t left = 0, right = 0;
  if (Fault fault = node["content"].read(character))
    return fault;
  if (Fault fault = node["start"].read(left))
    return fault;
  if (Fault fault = node["stop"].read(right))
    return fault;
  if (character.empty() || characterAt(character, 0).bytes != character.size())
    return node["content"].fault("expected one character");
  decoder.steps.push_back(decodeStrip(std::move(character), left, right));
  return {};
}

static Fault addMetaspaceDecoder(const Node &node, Decoder &decoder) {
  std::string replacement = "\u2581", scheme;
  bool addsSpace = true;
  if (Fault fault = node["replacement"].readOptional(replacement))
    return fault;
  if (Fault fault = node["add_prefix_space"].readOptional(addsSpace))
    return fault;
  if (Fault fault = node["prepend_scheme"].readOptional(scheme))
    return fault;
  bool strips = scheme.empty() ? addsSpace : scheme != "never";
  // In the first token they stand for the space that was added.
  Regex space = Regex::literal(replacement);
  decoder.steps.push_back([=](std::vector<std::string> &texts) {
    for (std::string &text : texts) {
      bool isFirst = &text == texts.data();
      if (Fault fault = space.replaceAll(text, isFirst && strips ? "" : " "))
        return fault;
    }
    return Fault();
  });
  return {};
}

static Fault addWordEnds(const Node &node, Decoder &decoder) {
  std::string suffix = "</w>";
  if (Fault fault = node["suffix"].readOptional(suffix))
    return fault;
  Regex end = Regex::literal(suffix);
  decoder.steps.push_back([=](std::vector<std::string> &texts) {
    for (std::string &text : texts) {
      bool isLast = &text == &texts.back();
      if (Fault fault = end.replaceAll(text, isLast ? "" : " "))
        return fault;
    }
    return Fault();
  });
  return {};
}

static Fault readDecoderStep(const Node &node, const std::string &type,
                             Decoder &decoder) {
  if (type == "Replace")
    return addReplaceDecoder(node, decoder);
  if (type == "Strip")
    return addStripDecoder(node, decoder);
  if (type == "Metaspace")
    return addMetaspaceDecoder(node, decoder);
  if (type == "BPEDecoder")
    return addWordEnds(node, decoder);
  if (type == "ByteLevel") {
    decoder.bytes = Decoder::Bytes::byteLevel;
    decoder.steps.push_back(decodeByteLevel());
  } else if (type == "ByteFallback") {
    decoder.bytes = Decoder::Bytes::byteTokens;
    decoder.steps.push_back(decodeByteTokens());
  } else if (type == "Fuse")
    decoder.steps.push_back(decodeFuse());
  else
    return node.fault("decoder '" + type +
                      "' is not supported; ByteLevel, ByteFallback, Metaspace, "
                      "Replace, Strip, Fuse, BPEDecoder and Sequence are");
  return {};
}

Fault frit::tokenizer::readDecoder(const Node &node, Decoder &decoder) {
  decoder.joinsWithSpaces = node.isNull();
  return readSteps(node, "decoders",
                   [&](const Node &step, const std::string &type) {
                     return readDecoderStep(step, type, decoder);
                   });
}
