//===- Options.cpp - Command line of frit-run -----------------------------===//

#include "Options.h"
#include "compiler/support/OutputFile.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

using namespace frit::run;

/// Returns the table for --help, the manual page and shell completion.
static frit::HelpTable helpTable() {
  frit::HelpTable help;
  help.tool = "frit-run";
  help.version = frit_version();
  help.purpose = "runs, compares and times a compiled model";
  help.synopsis = "model.so [options]";
  help.inputs = {".so"};
  auto section = [&](const char *title, std::vector<frit::HelpOption> rows) {
    addSection(help, title, std::move(rows));
  };
  section(
      "Inputs and outputs",
      {{"", "--input=", "[name=]@file",
        "Read an input from .npy, .npz, .safetensors or .pb; an archive gives "
        "every input whose name it contains"},
       {"", "--input=", "[name=]type=random[:seed[:low..high]]",
        "Generate an input, as 1x3x224x224xf32=random:7; floats are normally "
        "distributed, integers 0 or 1, or else in [low, high). Inputs that are "
        "not given are generated"},
       {"", "--input=", "name=random... or name=value",
        "The same in the model's type, or all elements of one value, a "
        "number or, for strings, a text"},
       {"", "--shape=", "symbol=size,...",
        "Sizes of the model's dynamic dimensions, as batch=3, for generated "
        "inputs (default: the largest); inputs from files have their own"},
       {"", "--output=", "@file",
        "Write the outputs to .npz, or a single one to .npy"}});
  section(
      "Checking",
      {{"", "--compare=", "file", "Compare the outputs with those in <file>"},
       {"", "--rtol=", "x",
        "|got - expected| <= atol + rtol |expected| for each element (default: "
        "1e-4)"},
       {"", "--atol=", "x", "See --rtol (default: 1e-5)"},
       {"", "--l2=", "x",
        "Instead: |got - expected| <= x |expected|, as vectors"}});
  section(
      "Language models",
      {{"", "--prompt=", "text",
        "Continue a text; @<file> reads it from a file"},
       {"", "--chat", "",
        "Reply to the prompt, or to each line of the standard input, by the "
        "tokenizer's template"},
       {"", "--tokenizer=", "path",
        "Folder with tokenizer.json, such a file, or a .gguf file"},
       {"", "--tokens=", "id,...",
        "The prompt as tokens; without a tokenizer those that follow are "
        "printed as such"},
       {"", "--perplexity", "",
        "Print how well the model foresees the prompt, in windows of as many "
        "tokens as its caches hold, and make none"},
       {"", "--max-tokens=", "n", "Most tokens to make (default: 256)"},
       {"", "--temperature=", "x",
        "Divides the logits; 0 takes the most likely token (default: 0)"},
       {"", "--top-k=", "n", "Choose among the n most likely tokens"},
       {"", "--top-p=", "x",
        "Choose among the fewest tokens whose probabilities sum to x"},
       {"", "--min-p=", "x",
        "Choose among tokens of at least x times the highest probability"},
       {"", "--repetition-penalty=", "x",
        "Divide positive logits of tokens of the text by x, and multiply "
        "negative ones"},
       {"", "--seed=", "n", "Equal seeds choose equal tokens (default: 0)"},
       {"", "--speculate=", "lookup",
        "Guess what followed the last tokens before, and check several guesses "
        "at a time; the tokens stay the same. The model is compiled with "
        "fritc --verify"},
       {"", "--draft=", "small.so",
        "Let a smaller model with the same tokens guess instead"},
       {"", "--guesses=", "n",
        "Guess that many tokens at a time (default: as many as fritc --verify "
        "allows)"},
       {"", "--source=", "text",
        "What a model with an encoder reads before the prompt: a text, tokens "
        "without a tokenizer, or @<file> with the log-mel spectrum of a sound"},
       {"", "--lora=", "folder",
        "Use an adapter of low rank as PEFT saves it. The model is compiled "
        "with fritc --lora-rank"}});
  section(
      "Timing",
      {{"", "--bench", "", "Time calls after a warm-up, and print the median"},
       {"", "--warmup=", "time", "Duration of the warm-up (default: 200ms)"},
       {"", "--duration=", "time", "Duration of the timed calls (default: 3s)"},
       {"", "--iterations=", "n",
        "Number of timed calls, instead of a duration"},
       {"", "--no-transfers", "", "Keep inputs and outputs on the device"},
       {"", "--profile", "", "Print the time of each step"},
       {"", "--profile=", "trace.json",
        "Also write a trace for Perfetto or Chrome"},
       {"", "--profile=", "page.html",
        "Also write a page with pictures: timeline, rates beside the device's "
        "peaks"},
       {"", "--report=", "model.html",
        "With --profile=page.html: the page of fritc --report that the times "
        "are added to"},
       {"", "--precision-report=", "shadow.so",
        "Compare what each step stores in 16 bits, and inputs and weights that "
        "it reads so, with the same model compiled in f32, worst first; both "
        "best with -O0"},
       {"", "--keep=", "file",
        "With --precision-report: write the names of the nodes whose numbers "
        "16 bits do not hold, for fritc -fkeep-fp32=file"},
       {"", "--time-report", "",
        "Print the time of each phase from the start to the results"}});
  std::vector<frit::HelpOption> running = runOptionsHelp();
  running.insert(running.begin(),
                 {"", "--function=", "name",
                  "Function of the model, such as eval_step (default: its "
                  "first); --info lists them"});
  section("What runs, and where", std::move(running));
  section("Other", {{"", "--info", "",
                     "Describe the model; --json does so for programs"},
                    {"", "--json", "", "Print results as JSON"},
                    {"", "-v", "", "Print more details"},
                    {"", "--verbose", "", "The same"},
                    {"", "--help", "", "Show this help"},
                    {"", "--version", "", "Show the version"}});
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
  if (name == "--rtol=" || name == "--atol=" || name == "--l2=")
    options.tolerance = name;
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
  // --iterations, the last option of the help
  return parseCount(argument, 1u << 30, options.iterations);
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
  if (options.perplexity && (options.chat || !options.generates()))
    return complain("--perplexity is used with --prompt or --tokens");
  if (!options.speculate.empty() && !options.draft.empty())
    return complain("--speculate and --draft are not used together");
  bool guesses = !options.speculate.empty() || !options.draft.empty();
  if (options.guesses && !guesses)
    return complain("--guesses is used with --speculate=lookup or --draft");
  if ((guesses || !options.lora.empty() || !options.source.empty()) &&
      !options.generates())
    return complain(std::string(!options.source.empty()  ? "--source"
                                : !options.lora.empty()  ? "--lora"
                                : !options.draft.empty() ? "--draft"
                                                         : "--speculate") +
                    " is used with --prompt, --tokens or --chat");
  if (options.chat && !options.tokens.empty())
    return complain("--chat and --tokens are not used together");
  if (!options.prompt.empty() && !options.tokens.empty())
    return complain("--prompt and --tokens are not used together");
  if (!options.report.empty()) {
    if (!options.trace.ends_with(".html"))
      return complain("--report=model.html is used with --profile=page.html");
    frit::protectInput(options.report);
  }
  if (!options.tolerance.empty() && options.compare.empty())
    return complain(options.tolerance + "x is used with --compare=file");
  if (!options.keep.empty() && options.shadow.empty())
    return complain("--keep=file is used with --precision-report=shadow.so");
  // The file is read after --output is written.
  if (!options.compare.empty())
    frit::protectInput(options.compare);
  return checkModes(options);
}

Parsed frit::run::parseOptions(int count, char **arguments, Options &options) {
  Parsed parsed = parseArguments(
      count, arguments, helpTable(),
      [&](const Argument &argument) { return apply(argument, options); });
  if (parsed == Parsed::run && !checkTogether(options))
    return Parsed::wrong;
  return parsed;
}
