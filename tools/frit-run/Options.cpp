//===- Options.cpp - Command line of frit-run -----------------------------===//

#include "Options.h"
#include "compiler/driver/Help.h"
#include "frit/printable.h"
#include "frit/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace frit::run;

/// Source of --help, the manual page and shell completion.
static frit::HelpTable helpTable() {
  using Rows = std::vector<frit::HelpOption>;
  frit::HelpTable help;
  help.tool = "frit-run";
  help.version = frit_version();
  help.purpose = "runs, compares and times a compiled model";
  help.synopsis = "model.so [options]";
  help.inputs = {".so"};
  auto section = [&](const char *title, Rows rows) {
    for (frit::HelpOption &row : rows) {
      row.section = title;
      help.options.push_back(std::move(row));
    }
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
       {"", "--input=", "name=random... or name=number",
        "The same in the model's type, or all elements of one value"},
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
       {"", "--time-report", "",
        "Print the time of each phase from the start to the results"}});
  section("Where it runs",
          {{"", "--device=", "cuda[:n]|cpu",
            "Where to run (default: a GPU if the model supports it)"},
           {"", "--threads=", "n", "Number of threads of the cpu target"},
           {"", "--no-cuda-graph", "",
            "Launch each step by itself; errors then name the model's node"},
           {"", "--no-programmatic-launch", "",
            "Start each kernel after the preceding one has ended"},
           {"", "--no-cublas", "", "Use frit's kernels for matrix products"},
           {"", "--no-cudnn", "",
            "Use frit's kernels for convolutions and attention"},
           {"", "--weights=", "folder", "Folder of external weights"}});
  section("Other", {{"", "--info", "",
                     "Describe the model; --json does so for programs"},
                    {"", "--json", "", "Print results as JSON"},
                    {"", "-v", "", "Print more details"},
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

static bool fail(std::string_view message, std::string_view argument,
                 const std::string &hint = "") {
  fprintf(stderr, "frit-run: %.*s '%s'%s\n", int(message.size()),
          message.data(), frit::printable(argument).c_str(), hint.c_str());
  return false;
}

static bool unknown(std::string_view argument) {
  std::vector<std::string> names;
  for (const frit::HelpOption &option : helpTable().options)
    names.push_back(option.name);
  size_t equals = argument.find('=');
  std::string nearest = frit::nearestTo(
      equals == argument.npos ? argument : argument.substr(0, equals + 1),
      names);
  return fail("unknown option", argument,
              nearest.empty() ? "; see frit-run --help"
                              : "; did you mean '" + nearest + "'?");
}

static bool parseNumber(std::string_view argument, const std::string &value,
                        double &result) {
  char *end;
  result = strtod(value.c_str(), &end);
  if (value.empty() || *end || !(result >= 0))
    return fail("not a number that is 0 or more:", argument);
  return true;
}

static bool parseCount(std::string_view argument, const std::string &value,
                       uint64_t limit, uint64_t &result) {
  char *end;
  result = strtoull(value.c_str(), &end, 10);
  if (value.empty() || value[0] == '-' || *end || !result || result > limit)
    return fail("not a count:", argument);
  return true;
}

/// Parses "200ms", "3s", "50us"; seconds without a unit.
static bool parseTime(std::string_view argument, const std::string &value,
                      double &seconds) {
  char *end;
  seconds = strtod(value.c_str(), &end);
  double unit = !strcmp(end, "us")                  ? 1e-6
                : !strcmp(end, "ms")                ? 1e-3
                : !strcmp(end, "s") || *end == '\0' ? 1
                                                    : -1;
  if (value.empty() || unit < 0 || !(seconds >= 0) || seconds > 1e6)
    return fail("not a time such as 200ms or 3s:", argument);
  seconds *= unit;
  return true;
}

namespace {
/// Flags, and options with a text value.
struct Flag {
  const char *name;
  bool Options::*field;
};
struct TextOption {
  const char *name;
  std::string Options::*field;
};
} // namespace

static const Flag flags[] = {
    {"--no-cuda-graph", &Options::noGraph},
    {"--no-programmatic-launch", &Options::noProgrammaticLaunch},
    {"--no-cublas", &Options::noCublas},
    {"--no-cudnn", &Options::noCudnn},
    {"-v", &Options::verbose},
    {"--verbose", &Options::verbose},
    {"--json", &Options::json},
    {"--bench", &Options::bench},
    {"--info", &Options::info},
    {"--time-report", &Options::timeReport},
    {"--profile", &Options::profile},
    {"--no-transfers", &Options::noTransfers}};

static const TextOption texts[] = {{"--device", &Options::device},
                                   {"--weights", &Options::weights},
                                   {"--output", &Options::output},
                                   {"--compare", &Options::compare},
                                   {"--profile", &Options::trace}};

static bool parseValue(std::string_view argument, const std::string &name,
                       const std::string &value, Options &options) {
  for (const TextOption &text : texts)
    if (name == text.name) {
      if (value.empty())
        return fail("a value is missing:", argument);
      options.*text.field = value;
      options.profile |= name == "--profile";
      return true;
    }
  uint64_t count = 0;
  if (name == "--input") {
    options.inputs.push_back(value);
    return true;
  }
  if (name == "--shape") {
    for (size_t at = 0; at <= value.size();) {
      size_t end = std::min(value.find(',', at), value.size());
      options.shapes.push_back(value.substr(at, end - at));
      at = end + 1;
    }
    return true;
  }
  if (name == "--rtol")
    return parseNumber(argument, value, options.rtol);
  if (name == "--atol")
    return parseNumber(argument, value, options.atol);
  if (name == "--l2")
    return parseNumber(argument, value, options.l2);
  if (name == "--warmup")
    return parseTime(argument, value, options.warmup);
  if (name == "--duration")
    return parseTime(argument, value, options.duration);
  if (name == "--iterations")
    return parseCount(argument, value, 1u << 30, options.iterations);
  if (name == "--threads") {
    bool good = parseCount(argument, value, 4096, count);
    options.threads = uint32_t(count);
    return good;
  }
  return unknown(argument);
}

/// Returns whether option `name` takes a value, which may then be the next
/// argument.
static bool takesValue(const std::string &name) {
  for (const char *known :
       {"--input", "--shape", "--output", "--device", "--weights", "--compare",
        "--rtol", "--atol", "--l2", "--warmup", "--duration", "--iterations",
        "--threads"})
    if (name == known)
      return true;
  return false;
}

static bool parseArgument(int count, char **arguments, int &index,
                          Options &options) {
  std::string argument = arguments[index];
  if (argument.empty() || argument[0] != '-') {
    if (!options.model.empty())
      return fail("only one model is run at a time; unexpected", argument);
    options.model = argument;
    return true;
  }
  for (const Flag &flag : flags)
    if (argument == flag.name)
      return options.*flag.field = true;
  size_t equals = argument.find('=');
  if (equals != argument.npos)
    return parseValue(argument, argument.substr(0, equals),
                      argument.substr(equals + 1), options);
  if (!takesValue(argument))
    return unknown(argument);
  if (index + 1 == count)
    return fail("a value is missing:", argument);
  return parseValue(argument, argument, arguments[++index], options);
}

static bool checkTogether(Options &options) {
  if (options.model.empty()) {
    fprintf(stderr, "frit-run: no model was given; frit-run --help says how\n");
    return false;
  }
  if (!options.output.empty() && options.output[0] == '@')
    options.output.erase(0, 1);
  if (!options.compare.empty() && options.compare[0] == '@')
    options.compare.erase(0, 1);
  if (int(options.bench) + int(options.info) + int(options.profile) > 1) {
    fprintf(stderr,
            "frit-run: --bench, --info and --profile are used one at a time\n");
    return false;
  }
  return true;
}

Parsed frit::run::parseOptions(int count, char **arguments, Options &options) {
  for (int index = 1; index < count; ++index) {
    std::string_view argument = arguments[index];
    bool isForm = argument.starts_with("--help=");
    if (isForm || argument == "--help" || argument == "-h") {
      auto form = frit::parseHelpForm(isForm ? argument.substr(7) : "text");
      if (!form) {
        fail("unknown form of help", argument);
        return Parsed::wrong;
      }
      fputs(frit::printHelp(helpTable(), *form).c_str(), stdout);
      return Parsed::helped;
    }
    if (argument == "--version") {
      printf("frit-run %s\n", frit_version());
      return Parsed::helped;
    }
    if (!parseArgument(count, arguments, index, options))
      return Parsed::wrong;
  }
  return checkTogether(options) ? Parsed::run : Parsed::wrong;
}
