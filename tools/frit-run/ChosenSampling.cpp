//===- ChosenSampling.cpp - How the next token is chosen ------------------===//
//
//   "search": {"do_sample": true, "temperature": 0.7, "top_k": 50,
//              "top_p": 0.9, "repetition_penalty": 1.1, "num_beams": 1, ...}
//
// of genai_config.json; members left out have onnxruntime-genai's defaults.
// Without do_sample the most likely token follows, as with a top_k of 1.
//
//===----------------------------------------------------------------------===//

#include "ChosenSampling.h"
#include "tools/support/Mapped.h"
#include "tools/support/Message.h"
#include "tools/tokenizer/Json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace frit::run;
using frit::tokenizer::Node;
using frit::tokenizer::parseJson;
using namespace frit::tools;

namespace fs = std::filesystem;

namespace {
/// What a folder says of sampling.
struct Search {
  bool isSampled = false;
  double temperature = 1, topP = 0, repetitionPenalty = 1, beams = 1, topK = 50;
};
} // namespace

static Fault readSearch(const frit::tokenizer::Json &json, Search &search) {
  const Node node = Node(json)["search"];
  if (Fault fault = node["do_sample"].readOptional(search.isSampled))
    return fault;
  const struct {
    const char *name;
    double &value;
    double least, most;
  } numbers[] = {{"temperature", search.temperature, 0, 1e30},
                 {"top_p", search.topP, 0, 1},
                 {"top_k", search.topK, 0, 1u << 30},
                 {"num_beams", search.beams, 1, 1u << 30},
                 {"repetition_penalty", search.repetitionPenalty, 1e-30, 1e30}};
  for (const auto &[name, value, least, most] : numbers) {
    if (Fault fault = node[name].readOptional(value))
      return fault;
    if (!(value >= least && value <= most))
      return node[name].fault(least >= 1  ? "expected a number of at least 1"
                              : most == 1 ? "expected a number from 0 to 1"
                              : least > 0 ? "expected a number above 0"
                                          : "expected a number of at least 0");
  }
  if (search.topK != std::floor(search.topK))
    return node["top_k"].fault("expected a whole number");
  return {};
}

/// Reads genai_config.json of the tokenizer's folder if there is one.
static Fault readFolder(const std::string &tokenizer, Search &search) {
  std::error_code error;
  fs::path folder = tokenizer;
  if (!fs::is_directory(folder, error))
    folder = folder.parent_path();
  const std::string path = (folder / "genai_config.json").string();
  if (!fs::exists(path, error))
    return {};
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(path, bytes, owner))
    return fault;
  frit::tokenizer::Json json;
  Fault fault = parseJson(bytes, json);
  if (!fault)
    fault = readSearch(json, search);
  if (fault)
    return fault.within("'" + path + "'");
  if (search.beams > 1)
    complain("note: '" + path + "' searches " +
             std::to_string(int64_t(search.beams)) +
             " beams; one text is continued");
  return {};
}

Fault frit::run::chooseSampling(const Options &options,
                                frit_sampling &sampling) {
  Search search;
  if (!options.tokenizer.empty())
    if (Fault fault = readFolder(options.tokenizer, search))
      return fault;
  auto choose = [&](const char *name, double given, double otherwise) {
    bool isGiven = std::ranges::count(options.given, name,
                                      &frit::options::GivenOption::name);
    return isGiven ? given : otherwise;
  };
  bool samples = search.isSampled && search.topK != 1;
  sampling.temperature = float(choose("--temperature", options.temperature,
                                      samples ? search.temperature : 0));
  sampling.repetition_penalty =
      float(choose("--repetition-penalty", options.repetitionPenalty,
                   search.repetitionPenalty));
  bool isGreedy = sampling.temperature == 0;
  // A folder's filters belong to its way of choosing.
  if (isGreedy)
    samples = false;
  sampling.top_k = uint32_t(
      choose("--top-k", double(options.topK), samples ? search.topK : 0));
  sampling.top_p =
      float(choose("--top-p", options.topP, samples ? search.topP : 0));
  sampling.min_p = float(options.minP);
  sampling.seed = options.seed;
  std::string unused = isGreedy ? findUnsampled(options) : "";
  return unused.empty() ? Fault() : Fault(unused, kBadUsage);
}
