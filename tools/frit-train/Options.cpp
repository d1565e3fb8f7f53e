//===- Options.cpp - Command line of frit-train ---------------------------===//

#include "tools/frit-train/Options.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

namespace frit::options {
/// Modes in which options have an effect, named as in Options.td.
enum : unsigned {
  Training = FirstOwnUse,
  Traced,
  Evaluations,
  Kept,
  Loaded,
  Ranked
};
} // namespace frit::options

#define FRIT_OPTIONS "tools/frit-train/Options.inc"
#include "compiler/support/OptionTable.inc"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace frit::train;

/// Returns what --help, the manual page and shell completion say.
static frit::HelpTable helpTable() {
  frit::HelpTable help;
  help.tool = "frit-train";
  help.version = frit_version();
  help.purpose = "trains a model with a compiled training step";
  help.synopsis = "step.so --data=source [options]";
  help.inputs = {".so"};
  using namespace frit::options;
  addOptions(help, kOptions,
             std::array<unsigned, 6>{OPT_data_Group, OPT_training_Group,
                                     OPT_results_Group, OPT_printing_Group,
                                     OPT_running_Group, OPT_other_Group});
  help.missing = {{"--accumulate=",
                   "gradients are accumulated by the compiled step: write "
                   "\"accumulate\" in fritc's train.json"}};
  help.examples = {
      {"fritc model.onnx --train=train.json -o step.so",
       "compiles the step that this trains with"},
      {"frit-train step.so --data=train.npz --eval=test.npz --epochs=10",
       "trains, and evaluates after each epoch"},
      {"frit-train step.so --data=train.npz --checkpoint=run/ --resume",
       "goes on where it was stopped, if it was"},
      {"frit-train step.so --evaluate --eval=test.npz "
       "--load=run/best.safetensors",
       "evaluates a checkpoint"},
      {"frit-train step.so --data=train.npz --devices=0-3",
       "trains on four GPUs; torchrun, mpirun or srun starts it on more hosts"},
      {"frit-train step.so --data=train.npz --export=new.onnx --from=old.onnx",
       "writes the trained weights into a copy of the model"}};
  help.statuses = {{0, "done"},
                   {1, "an input or file is wrong, or the loss is not finite"},
                   {2, "wrong usage"},
                   {4,
                    "out of memory, results cannot be written, or ranks do not "
                    "find each other"},
                   {130, "interrupted, after a last checkpoint; 128 + the "
                         "signal's number for others"}};
  return help;
}

namespace {
struct CountOption {
  const char *name;
  uint64_t Options::*field;
  uint64_t most;
};
} // namespace

static const Setting<Options, bool> flags[] = {
    {"--allow-nan", &Options::allowNan},
    {"--trace-overflow", &Options::traceOverflow},
    {"--resume", &Options::resume},
    {"--evaluate", &Options::isEvaluation},
    {"--partial", &Options::isPartial},
    {"--json", &Options::json},
    {"-v", &Options::verbose}};

static const Setting<Options, std::string> texts[] = {
    {"--tokens=", &Options::tokens},
    {"--load=", &Options::initial},
    {"--eval-tokens=", &Options::evaluationTokens},
    {"--checkpoint=", &Options::checkpoints},
    {"--from=", &Options::original},
    {"--tensorboard=", &Options::events},
    {"--log=", &Options::log}};

static const Setting<Options, std::vector<std::string>> lists[] = {
    {"--data=", &Options::data},
    {"--eval=", &Options::evaluation},
    {"--export=", &Options::exports}};

/// More steps than any run takes.
static constexpr uint64_t kMostSteps = uint64_t(1) << 40;

static const CountOption counts[] = {
    {"--epochs=", &Options::epochs, 1u << 30},
    {"--steps=", &Options::steps, kMostSteps},
    {"--workers=", &Options::workers, 256},
    {"--eval-every=", &Options::evaluateEvery, kMostSteps},
    {"--patience=", &Options::patience, kMostSteps},
    {"--checkpoint-every=", &Options::checkpointEvery, kMostSteps},
    {"--keep=", &Options::keep, kMostSteps},
    {"--join-timeout=", &Options::joinTimeout, 86400},
    {"--log-every=", &Options::logEvery, kMostSteps}};

/// Parses an integer that may be 0, and negative if `T` is signed.
template <typename T>
static bool parseInteger(const Argument &argument, T &number) {
  const std::string &value = argument.value;
  auto [end, fault] =
      std::from_chars(value.data(), value.data() + value.size(), number);
  if (fault != std::errc() || end != value.data() + value.size())
    return wrongArgument("not an integer:", argument.text);
  return true;
}

/// Parses "0-3", "0,2" or "0-1,4-5".
static bool parseDevices(const Argument &argument,
                         std::vector<uint32_t> &devices) {
  constexpr uint32_t most = 1023;
  devices.clear();
  const char *next = argument.value.data(), *end = next + argument.value.size();
  while (true) {
    uint32_t first = 0;
    auto parsed = std::from_chars(next, end, first);
    uint32_t last = first;
    bool good = parsed.ec == std::errc();
    if (good && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      good = parsed.ec == std::errc();
    }
    if (!good || last < first || last > most ||
        (parsed.ptr != end && *parsed.ptr != ','))
      return wrongArgument("not a list of GPUs, such as 0-3 or 0,2:",
                           argument.text);
    for (uint32_t device = first; device <= last; ++device) {
      if (std::ranges::find(devices, device) != devices.end())
        return wrongArgument("a GPU has one rank:", argument.text);
      devices.push_back(device);
    }
    if (parsed.ptr == end)
      return true;
    next = parsed.ptr + 1;
  }
}

static bool apply(const Argument &argument, Options &options) {
  const std::string &name = argument.name, &value = argument.value;
  if (name.empty()) {
    if (!options.model.empty())
      return wrongArgument("only one step is run; unexpected", value);
    options.model = value;
    return true;
  }
  if (bool *flag = findSetting(flags, argument, options))
    return *flag = true;
  if (name == "--no-shuffle") {
    options.isShuffled = false;
    return true;
  }
  if (std::optional<bool> applied = applyRunOption(argument, options))
    return *applied;
  if (std::string *text = findSetting(texts, argument, options))
    return parseText(argument, *text);
  if (value.empty())
    return wrongArgument("a value is missing:", argument.text);
  if (auto *list = findSetting(lists, argument, options)) {
    list->push_back(value);
    return true;
  }
  for (const CountOption &count : counts)
    if (name == count.name)
      return parseCount(argument, count.most, options.*count.field);
  if (name == "--batch=") {
    options.largestBatch = value == "auto";
    return options.largestBatch ||
           parseCount(argument, 1u << 30, options.batch);
  }
  if (name == "--seed=")
    return parseInteger(argument, options.seed.emplace());
  if (name == "--trace-limit=")
    return parseInteger(argument, options.traceLimit);
  if (name == "--ignore-index=")
    return parseInteger(argument, options.ignoredLabel);
  if (name == "--devices=")
    return parseDevices(argument, options.devices);
  Fault fault;
  if (name == "--best=")
    fault = MetricChoice::parse(value, options.best.emplace());
  else if (name == "--lr=")
    fault = Schedule::parse(value, options.schedule.emplace());
  else
    return unhandledOption(argument);
  return !fault || complain(fault.within(argument.text));
}

/// Rejects options that do not have an effect on what is asked for.
static bool checkUsed(const Options &options) {
  using namespace frit::options;
  bool trains = !options.isEvaluation;
  bool evaluates =
      !options.evaluation.empty() || !options.evaluationTokens.empty();
  const char *alone = "with --evaluate, which trains nothing and runs on one "
                      "device";
  const OptionUse uses[] = {
      {Training, trains, alone},
      {Traced, trains && !options.allowNan,
       trains ? "with --allow-nan" : alone},
      {Evaluations, trains && evaluates,
       trains ? "without --eval or --eval-tokens" : alone},
      {Kept, trains && !options.checkpoints.empty(),
       trains ? "without a folder, --checkpoint=run/" : alone},
      {Loaded, !options.initial.empty(), "without --load=file.safetensors"}};
  return checkUses(options.given, uses);
}

bool frit::train::checkRanks(const Options &options) {
  const frit::options::OptionUse uses[] = {
      {frit::options::Ranked, options.place.size > 1, "on one device"}};
  return checkUses(options.given, uses);
}

/// Checks the options that are about evaluations of a run.
static bool checkBest(const Options &options) {
  if (options.best && options.checkpoints.empty() &&
      (!options.patience || !options.exports.empty()))
    return complain("--best keeps a checkpoint, whose weights --export "
                    "writes, in a folder: --checkpoint=run/");
  return true;
}

static bool checkTogether(const Options &options) {
  if (options.model.empty())
    return complain("no step was given; frit-train --help says how");
  if (!checkUsed(options))
    return false;
  if (!options.evaluation.empty() && !options.evaluationTokens.empty())
    return complain("--eval and --eval-tokens are not used together");
  if (options.isEvaluation)
    return !options.evaluation.empty() || !options.evaluationTokens.empty() ||
           complain("no data to evaluate on were given; write --eval= or "
                    "--eval-tokens=");
  if (options.data.empty() == options.tokens.empty())
    return complain(options.data.empty()
                        ? "no data were given; write --data= or --tokens="
                        : "--data and --tokens are not used together");
  if (options.epochs && options.steps)
    return complain("--epochs and --steps are not used together");
  if (!checkBest(options))
    return false;
  if (!options.devices.empty() && !options.device.empty() &&
      options.device != "cpu")
    return complain("--devices says which GPUs; --device=" + options.device +
                    " is not used with it");
  bool hasOnnx = false;
  for (const std::string &path : options.exports) {
    hasOnnx |= path.ends_with(".onnx");
    if (!path.ends_with(".onnx") && !path.ends_with(".safetensors"))
      return complain("--export=" + path +
                      ": write a name that ends in .onnx or .safetensors");
  }
  if (hasOnnx == options.original.empty())
    return complain(hasOnnx ? "--export to an .onnx file takes the model that "
                              "was compiled: --from=model.onnx"
                            : "--from is used with --export=file.onnx");
  return true;
}

void frit::train::takePlace(Options &options, const Place &place) {
  options.place = place;
  if (place.size == 1)
    return;
  if (options.device.empty()) {
    // Some launchers make only its own GPU visible to each process.
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    bool isOne = visible && *visible && !strchr(visible, ',');
    options.device = "cuda:" + std::to_string(isOne ? 0 : place.local);
  }
  if (!place.rank)
    return;
  options.evaluation.clear();
  options.evaluationTokens.clear();
  options.best.reset();
  options.patience = 0;
  options.checkpoints.clear();
  options.exports.clear();
  options.original.clear();
  options.log.clear();
  options.events.clear();
  options.resume = options.verbose = false;
  options.json = true;
  options.allowNan = true; // rank 0 sees the same loss
}

Parsed frit::train::parseOptions(int count, char **arguments,
                                 Options &options) {
  Parsed parsed = parseArguments(
      count, arguments, helpTable(),
      [&](const Argument &argument) { return apply(argument, options); },
      &options.given);
  if (parsed == Parsed::run && !checkTogether(options))
    return Parsed::wrong;
  return parsed;
}
