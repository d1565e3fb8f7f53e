//===- Options.cpp - Command line of frit-doctor --------------------------===//

#include "tools/frit-doctor/Options.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

#define FRIT_OPTIONS "tools/frit-doctor/Options.inc"
#include "compiler/support/OptionTable.inc"

#include <algorithm>
#include <array>

using namespace frit;
using namespace frit::doctor;
using namespace frit::tools;

static HelpTable helpTable() {
  HelpTable help;
  help.tool = "frit-doctor";
  help.version = frit_version();
  help.purpose = "says what this machine has for frit, and what to do where "
                 "something does not fit";
  help.synopsis = "[options]";
  using namespace frit::options;
  addOptions(help, kOptions, std::array<unsigned, 1>{OPT_all_Group});
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

/// Adds the parts of a list, which the table names.
static bool addNeeds(const std::string &list,
                     const std::vector<std::string> &parts, Options &options) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    std::string part = list.substr(at, end - at);
    if (std::ranges::find(parts, part) == parts.end()) {
      std::string nearest = nearestTo(part, parts);
      return wrongArgument(
          "--need takes " + listOf(parts) + ", not", part,
          nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
    }
    options.needs.push_back(part);
    at = end + 1;
  }
  return true;
}

Parsed frit::doctor::parseOptions(int count, char **arguments,
                                  Options &options) {
  HelpTable help = helpTable();
  return parseArguments(count, arguments, help, [&](const Argument &argument) {
    if (argument.name == "--need=")
      return addNeeds(argument.value, valuesOf(help, argument.name), options);
    if (argument.name == "--json")
      return options.json = true;
    if (!argument.name.empty())
      return unhandledOption(argument);
    return wrongArgument("unexpected argument", argument.text);
  });
}
