//===- Options.cpp - Command line of frit-doctor --------------------------===//

#include "tools/frit-doctor/Options.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

#include <algorithm>

using namespace frit;
using namespace frit::doctor;
using namespace frit::tools;

static const std::vector<std::string> kParts = {"driver", "cuda",  "nvrtc",
                                                "cublas", "cudnn", "nccl"};

static HelpTable helpTable() {
  HelpTable help;
  help.tool = "frit-doctor";
  help.version = frit_version();
  help.purpose = "says what this machine has for frit, and what to do where "
                 "something does not fit";
  help.synopsis = "[options]";
  help.options = {{"Options", "--need=", "part,...",
                   "Fail unless these work (cuda: a GPU that runs kernels)",
                   kParts},
                  {"Options", "--json", "", "Print the report as JSON"},
                  {"Options", "--help", "", "Show this help"},
                  {"Options", "--version", "", "Show the version"}};
  help.examples = {
      {"frit-doctor", "looks at the driver, the GPUs and NVIDIA's libraries"},
      {"frit-doctor --need=cuda,nccl", "checks a machine for training"}};
  help.statuses = {{0, "done: frit runs here, if only on the processor"},
                   {1, "what is here does not work, or a part that --need "
                       "names is missing"},
                   {2, "wrong usage"},
                   {4, "the report cannot be written"}};
  return help;
}

static bool addNeeds(const std::string &list, Options &options) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    std::string part = list.substr(at, end - at);
    if (std::ranges::find(kParts, part) == kParts.end()) {
      std::string nearest = nearestTo(part, kParts);
      return wrongArgument(
          "--need takes " + listOf(kParts) + ", not", part,
          nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
    }
    options.needs.push_back(part);
    at = end + 1;
  }
  return true;
}

Parsed frit::doctor::parseOptions(int count, char **arguments,
                                  Options &options) {
  return parseArguments(
      count, arguments, helpTable(), [&](const Argument &argument) {
        if (argument.name == "--need=")
          return addNeeds(argument.value, options);
        if (argument.name == "--json")
          return options.json = true;
        return wrongArgument("unexpected argument", argument.text);
      });
}
