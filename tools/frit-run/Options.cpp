//===- Options.cpp - Command line of frit-run -----------------------------===//

#include "Options.h"
#include "compiler/support/OutputFile.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

namespace frit::options {
/// Modes in which options have an effect, named as in Options.td.
enum : unsigned {
  Calls = FirstOwnUse,
  Compared,
  Tolerance,
  Language,
  Foreseen,
  Continued,
  Chosen,
  Guessed,
  Timed,
  TimedLong,
  Drawn,
  Shadowed,
  RunOnce,
  Function
};
} // namespace frit::options

#define FRIT_OPTIONS "tools/frit-run/Options.inc"
#include "compiler/support/OptionTable.inc"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

using namespace frit::run;

/// Returns what --help, the manual page and shell completion say.
static frit::HelpTable helpTable() {
  frit::HelpTable help;
  help.tool = "frit-run";
  help.version = frit_version();
  help.purpose = "runs, compares and times a compiled model";
  help.synopsis = "model.so [options]";
  help.inputs = {".so"};
  using namespace frit::options;
  addOptions(help, kOptions,
             std::array<unsigned, 6>{OPT_io_Group, OPT_checking_Group,
                                     OPT_language_Group, OPT_timing_Group,
                                     OPT_running_Group, OPT_other_Group});
  help.examples = {
      {"frit-run model.so --input=image=@cat.npy --output=@out.npz",
       "runs the model on a file"},
      {"frit-run model.so --compare=expected.npz --rtol=1e-3",
       "says which output differs, where and by how much"},
      {"frit-run model.so --bench", "times it on generated inputs"}};
  help.statuses = {{0, "done"},
                   {1, "an input or file is wrong, or the outputs "
                       "differ"},
                   {2, "wrong usage"},
                   {4, "out of memory, or results cannot be written"}};
  return help;
}

static const Setting<Options, bool> flags[] = {
    {"-v", &Options::verbose},
    {"--verbose", &Options::verbose},
    {"--json", &Options::json},
    {"--bench", &Options::bench},
    {"--chat", &Options::chat},
    {"--perplexity", &Options::perplexity},
    {"--info", &Options::info},
    {"--time-report", &Options::timeReport},
    {"--profile", &Options::profile},
    {"--no-transfers", &Options::noTransfers}};

static const Setting<Options, std::string> texts[] = {
    {"--function=", &Options::function},
    {"--output=", &Options::output},
    {"--compare=", &Options::compare},
    {"--profile=", &Options::trace},
    {"--precision-report=", &Options::shadow},
    {"--keep=", &Options::keep},
    {"--prompt=", &Options::prompt},
    {"--tokenizer=", &Options::tokenizer},
    {"--draft=", &Options::draft},
    {"--lora=", &Options::lora},
    {"--source=", &Options::source},
    {"--report=", &Options::report}};

static const Setting<Options, double> numbers[] = {
    {"--rtol=", &Options::rtol},
    {"--atol=", &Options::atol},
    {"--l2=", &Options::l2},
    {"--temperature=", &Options::temperature},
    {"--top-p=", &Options::topP},
    {"--min-p=", &Options::minP},
    {"--repetition-penalty=", &Options::repetitionPenalty}};

bool frit::run::parseTokens(const std::string &text, std::vector<int32_t> &to) {
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    int32_t token = 0;
    auto [rest, error] =
        std::from_chars(text.data() + at, text.data() + end, token);
    if (error != std::errc() || rest != text.data() + end || token < 0)
      return false;
    to.push_back(token);
    at = end + 1;
  }
  return true;
}

static bool apply(const Argument &argument, Options &options) {
  const std::string &name = argument.name, &value = argument.value;
  if (name.empty()) {
    if (!options.model.empty())
      return wrongArgument("only one model is run at a time; unexpected",
                           value);
    options.model = value;
    return true;
  }
  if (bool *flag = findSetting(flags, argument, options))
    return *flag = true;
  if (std::string *text = findSetting(texts, argument, options)) {
    options.profile |= name == "--profile=";
    return parseText(argument, *text);
  }
  if (std::optional<bool> applied = applyRunOption(argument, options))
    return *applied;
  if (name == "--input=") {
    options.inputs.push_back(value);
    return true;
  }
  if (name == "--shape=") {
    for (size_t at = 0; at <= value.size();) {
      size_t end = std::min(value.find(',', at), value.size());
      options.shapes.push_back(value.substr(at, end - at));
      at = end + 1;
    }
    return true;
  }
  if (double *number = findSetting(numbers, argument, options))
    return parseNumber(argument, *number);
  if (name == "--tokens=")
    return parseTokens(value, options.tokens) ||
           wrongArgument("tokens are numbers after commas, as 5,7,9, not",
                         argument.text);
  if (name == "--speculate=") {
    options.speculate = value;
    return value == "lookup" ||
           wrongArgument("--speculate takes lookup, not", argument.text);
  }
  if (name == "--guesses=")
    return parseCount(argument, 1u << 30, options.guesses);
  if (name == "--max-tokens=")
    return parseCount(argument, 1u << 30, options.maxTokens);
  if (name == "--top-k=")
    return parseCount(argument, 1u << 30, options.topK);
  if (name == "--seed=")
    return parseCount(argument, ~uint64_t(0) >> 1, options.seed);
  if (name == "--warmup=")
    return parseTime(argument, options.warmup);
  if (name == "--duration=")
    return parseTime(argument, options.duration);
  if (name == "--iterations=")
    return parseCount(argument, 1u << 30, options.iterations);
  return unhandledOption(argument);
}

/// Rejects options that do not have an effect on what is asked for.
static bool checkUsed(const Options &options) {
  using namespace frit::options;
  bool generates = options.generates(), continues = generates;
  const char *unasked = "without --prompt, --tokens or --chat";
  if (options.perplexity) {
    continues = false;
    unasked = "with --perplexity";
  }
  bool times = options.bench;
  bool compares = !options.compare.empty();
  bool isOther = options.bench || options.info || options.profile ||
                 !options.shadow.empty() || generates;
  const OptionUse uses[] = {
      {Calls, !options.info && !generates,
       generates ? "with --prompt, --tokens or --chat" : "with --info"},
      {Function, !generates, "with --prompt, --tokens or --chat"},
      {Compared, compares, "without --compare"},
      {Tolerance, compares && options.l2 < 0,
       compares ? "with --l2" : "without --compare"},
      {Language, generates, "without --prompt, --tokens or --chat"},
      {Foreseen, generates && !options.chat,
       options.chat ? "with --chat" : "without --prompt or --tokens"},
      {Continued, continues, unasked},
      // Beside a tokenizer there may be a temperature (chooseSampling).
      {Chosen,
       continues && (options.temperature > 0 || !options.tokenizer.empty()),
       continues ? "without --temperature above 0" : unasked},
      {Guessed,
       continues && (!options.speculate.empty() || !options.draft.empty()),
       continues ? "without --speculate=lookup or --draft" : unasked},
      {Timed, times, "without --bench"},
      {TimedLong, times && !options.iterations,
       times ? "with --iterations" : "without --bench"},
      {Drawn, options.trace.ends_with(".html"), "without --profile=page.html"},
      {Shadowed, !options.shadow.empty(), "without --precision-report"},
      {RunOnce, !isOther,
       "with --bench, --info, --profile, --precision-report or a prompt"}};
  return checkUses(options.given, uses);
}

std::string frit::run::findUnsampled(const Options &options) {
  const frit::options::OptionUse use[] = {
      {frit::options::Chosen, false, "without --temperature above 0"}};
  return frit::options::findUnused(options.given, use);
}

/// Rejects combinations of options of which only one would have an effect.
static bool checkModes(const Options &options) {
  const std::pair<bool, const char *> asked[] = {
      {options.bench, "--bench"},
      {options.info, "--info"},
      {options.profile, "--profile"},
      {!options.shadow.empty(), "--precision-report"},
      {options.generates(), "--prompt"},
      {!options.compare.empty(), "--compare"},
      {!options.output.empty(), "--output"}};
  // Writing outputs and comparing them can be combined.
  const char *first = nullptr;
  for (auto [given, name] : asked) {
    bool joins = first && !strcmp(first, "--compare");
    if (given && first && !joins)
      return complain(std::string(first) + " and " + name +
                      " are not used together");
    if (given)
      first = name;
  }
  return true;
}

static bool checkTogether(Options &options) {
  if (options.model.empty())
    return complain("no model was given; frit-run --help says how");
  if (!options.output.empty() && options.output[0] == '@')
    options.output.erase(0, 1);
  if (!options.compare.empty() && options.compare[0] == '@')
    options.compare.erase(0, 1);
  bool hasText = !options.prompt.empty() || options.chat;
  if (hasText && options.tokenizer.empty())
    return complain("a text needs --tokenizer=, the model's folder, its "
                    "tokenizer.json or its .gguf file");
  if (!options.speculate.empty() && !options.draft.empty())
    return complain("--speculate and --draft are not used together");
  if (options.chat && !options.tokens.empty())
    return complain("--chat and --tokens are not used together");
  if (!options.prompt.empty() && !options.tokens.empty())
    return complain("--prompt and --tokens are not used together");
  if (!options.report.empty())
    frit::protectInput(options.report);
  // The file is read after --output is written.
  if (!options.compare.empty())
    frit::protectInput(options.compare);
  return checkModes(options) && checkUsed(options);
}

Parsed frit::run::parseOptions(int count, char **arguments, Options &options) {
  Parsed parsed = parseArguments(
      count, arguments, helpTable(),
      [&](const Argument &argument) { return apply(argument, options); },
      &options.given);
  if (parsed == Parsed::run && !checkTogether(options))
    return Parsed::wrong;
  return parsed;
}
