//===- Options.h - Command line of frit-run -------------------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_OPTIONS_H
#define FRIT_TOOLS_FRIT_RUN_OPTIONS_H

#include "tools/support/RunOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace frit::run {

using namespace tools;

struct Options : RunOptions {
  std::string model;
  std::string function; ///< empty: the model's first
  std::vector<std::string> inputs;
  std::vector<std::string> shapes; ///< "batch=3"
  std::string output;
  bool json = false;

  std::string compare;
  double rtol = 1e-4, atol = 1e-5;
  double l2 = -1; ///< if not negative, replaces rtol and atol

  bool bench = false;
  double warmup = 0.2, duration = 3; ///< seconds
  uint64_t iterations = 0;           ///< 0: as many as fit in `duration`
  bool noTransfers = false;

  bool timeReport = false;
  bool info = false;
  bool profile = false;
  std::string trace, report;
  std::string prompt;    ///< of a language model; "@" and a file
  std::string tokenizer; ///< folder or file; empty for none
  std::vector<int32_t> tokens;
  std::string speculate;   ///< "lookup"; empty for none
  std::string draft, lora; ///< artifact, folder; empty for none
  std::string source;      ///< see giveSource; empty for none
  uint64_t guesses = 0;    ///< 0: as many as a call takes
  bool chat = false, perplexity = false;
  uint64_t maxTokens = 256, topK = 0, seed = 0;
  double temperature = 0, topP = 0, minP = 0, repetitionPenalty = 0;

  std::string shadow; ///< of --precision-report; empty for none
  std::string keep;

  /// Returns whether a language model makes text.
  bool generates() const { return chat || !prompt.empty() || !tokens.empty(); }
};

/// Parses "5,7,9". Returns whether it is a list of tokens.
bool parseTokens(const std::string &text, std::vector<int32_t> &to);

/// Returns why an option of choosing tokens has no effect where the most likely
/// one is taken; empty if there is none.
std::string findUnsampled(const Options &options);

/// Parses the command line. Prints help, or an error.
Parsed parseOptions(int count, char **arguments, Options &options);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_OPTIONS_H
