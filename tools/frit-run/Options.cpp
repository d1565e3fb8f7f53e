//===- Options.cpp - The command line of frit-run -------------------------===//

#include "Options.h"
#include "frit/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace frit::run;

static const char helpText[] =
    R"(usage: frit-run model.so [options]     run, compare and time a compiled model

Inputs and outputs
  --input=[NAME=]@FILE      read an input from .npy, .npz, .safetensors or .pb;
                            an archive gives every input that it has by name
  --input=[NAME=]TYPE=random[:SEED[:LOW..HIGH]]
                            make one up, as 1x3x224x224xf32=random:7; floats are
                            normal, integers 0 or 1, or else in [LOW, HIGH)
  --input=NAME=random…, --input=NAME=NUMBER
                            the same, or all of one value, in the model's type
                            Inputs that are not given are made up
  --shape=SYMBOL=SIZE,...   sizes of dimensions that the model leaves open, as
                            batch=3, for inputs that are made up; those read
                            from files bring their own (default: the largest)
  --output=@FILE            write the outputs to .npz, or a single one to .npy

Checking
  --compare=FILE            compare the outputs with those in FILE
  --rtol=X --atol=X         |got - expected| <= atol + rtol |expected| for each
                            element (1e-4, 1e-5)
  --l2=X                    instead: |got - expected| <= X |expected|, as vectors

Timing
  --bench                   time calls after a warm-up; the median counts
  --warmup=T --duration=T   as 200ms or 3s (the defaults)
  --iterations=N            this many calls instead of a duration
  --no-transfers            inputs and outputs stay on the device
  --profile[=TRACE.json]    time per step; a trace for Perfetto or Chrome
  --time-report             after a run: where the time up to its results went

Where it runs
  --device=cuda[:N]|cpu     default: a GPU if there is one for the model
  --threads=N               of the cpu target
  --no-cuda-graph           step by step; an error then names the model's node
  --no-programmatic-launch  each kernel starts after the one before has ended
  --no-cublas --no-cudnn    frit's own kernels instead
  --weights=FOLDER          where external weights are

  --info                    describe the model; --json does so for programs
  --json                    print results as JSON
  -v, --help, --version

Exit status: 0 done, 1 something is wrong with what was given or the outputs
differ, 2 wrong usage, 4 memory is missing or results cannot be written.
)";

static bool fail(std::string_view message, std::string_view argument) {
  fprintf(stderr, "frit-run: %.*s '%.*s'\n", int(message.size()),
          message.data(), int(argument.size()), argument.data());
  return false;
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

/// "200ms", "3s", "50us"; seconds without a unit.
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
/// Options without a value, and options that are a text.
struct Flag {
  const char *name;
  bool Options::*field;
};
struct TextOption {
  const char *name;
  std::string Options::*field;
};
} // namespace

static const Flag flags[] = {{"--no-cuda-graph", &Options::noGraph},
                             {"--no-programmatic-launch", &Options::noAhead},
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
  return fail("unknown option", argument);
}

/// Options may be written "--name value" too, where a value is required.
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
    return fail("unknown option", argument);
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
    if (argument == "--help" || argument == "-h") {
      fputs(helpText, stdout);
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
