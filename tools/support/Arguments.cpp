//===- Arguments.cpp - Parse the command line of a tool -------------------===//

#include "tools/support/Arguments.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace frit;
using namespace frit::tools;

std::vector<std::string> frit::tools::valuesOf(const HelpTable &help,
                                               std::string_view name) {
  for (const HelpOption &option : help.options)
    if (option.name == name)
      return option.values;
  return {};
}

bool frit::tools::unhandledOption(const Argument &argument) {
  return complain("a bug in frit: no code applies the option " + argument.name);
}

bool frit::tools::checkUses(const std::vector<options::GivenOption> &given,
                            std::span<const options::OptionUse> uses) {
  std::string unused = options::findUnused(given, uses);
  return unused.empty() || complain(unused);
}

int frit::tools::statusOf(Parsed parsed) {
  return parsed == Parsed::wrong ? kBadUsage : kDone;
}

bool frit::tools::wrongArgument(std::string_view message,
                                std::string_view argument,
                                std::string_view hint) {
  return complain(std::string(message) + " '" + std::string(argument) + "'" +
                  std::string(hint));
}

static bool unknown(std::string_view argument, const HelpTable &help) {
  std::vector<std::string> names;
  for (const HelpOption &option : help.options)
    names.push_back(option.name);
  size_t equals = argument.find('=');
  std::string name(argument.substr(0, equals));
  for (const auto &[missing, instead] : help.missing)
    if (missing == name + "=")
      return wrongArgument("unknown option", argument, "; " + instead);
  std::string nearest =
      nearestTo(equals == argument.npos ? name : name + "=", names);
  return wrongArgument("unknown option", argument,
                       nearest.empty() ? "; see " + help.tool + " --help"
                                       : "; did you mean '" + nearest + "'?");
}

/// Prints help or the version if `argument` asks for one.
static Parsed showHelp(std::string_view argument, const HelpTable &help) {
  bool isForm = argument.starts_with("--help=");
  if (isForm || argument == "--help" || argument == "-h") {
    auto form = parseHelpForm(isForm ? argument.substr(7) : "text");
    if (!form) {
      wrongArgument("unknown form of help", argument);
      return Parsed::wrong;
    }
    fputs(printHelp(help, *form).c_str(), stdout);
    return Parsed::helped;
  }
  if (argument != "--version")
    return Parsed::run;
  printf("%s %s\n", help.tool.c_str(), help.version.c_str());
  return Parsed::helped;
}

Parsed
frit::tools::parseArguments(int count, char **arguments, const HelpTable &help,
                            const std::function<bool(const Argument &)> &apply,
                            std::vector<options::GivenOption> *given) {
  auto isListed = [&](std::string_view name) {
    return std::ranges::any_of(help.options, [&](const HelpOption &option) {
      return option.name == name;
    });
  };
  bool endsOptions = false;
  for (int index = 1; index < count; ++index) {
    std::string text = arguments[index];
    if (!endsOptions && text == "--") {
      endsOptions = true;
      continue;
    }
    if (Parsed shown = endsOptions ? Parsed::run : showHelp(text, help);
        shown != Parsed::run)
      return shown;
    Argument argument{text, "", text};
    if (!endsOptions && text.starts_with('-')) {
      size_t equals = text.find('=');
      if (equals != text.npos && isListed(text.substr(0, equals + 1))) {
        argument.name = text.substr(0, equals + 1);
        argument.value = text.substr(equals + 1);
      } else if (isListed(text) && !text.ends_with('=')) {
        argument.name = text;
        argument.value.clear();
      } else if (equals == text.npos && isListed(text + "=")) {
        argument.name = text + "=";
        if (++index == count) {
          wrongArgument("a value is missing:", text);
          return Parsed::wrong;
        }
        argument.value = arguments[index];
      } else {
        unknown(text, help);
        return Parsed::wrong;
      }
    }
    if (!apply(argument))
      return Parsed::wrong;
    for (const HelpOption &option : help.options)
      if (given && option.use && option.name == argument.name)
        given->push_back({text.substr(0, text.find('=')), option.use});
  }
  return Parsed::run;
}

bool frit::tools::parseText(const Argument &argument, std::string &result) {
  result = argument.value;
  return !result.empty() || wrongArgument("a value is missing:", argument.text);
}

bool frit::tools::parseNumber(const Argument &argument, double &result) {
  const char *value = argument.value.c_str();
  char *end;
  result = strtod(value, &end);
  if (!*value || *end || !(result >= 0))
    return wrongArgument("not a number that is 0 or more:", argument.text);
  return true;
}

bool frit::tools::parseCount(const Argument &argument, uint64_t most,
                             uint64_t &result) {
  const char *value = argument.value.c_str();
  char *end;
  result = strtoull(value, &end, 10);
  if (!*value || *value == '-' || *end || !result)
    return wrongArgument("not a count:", argument.text);
  // A count beyond 64 bits is parsed as the maximum.
  return result <= most ||
         complain(argument.text + ": " + std::to_string(most) + " at most");
}

bool frit::tools::parseBytes(const Argument &argument, uint64_t &bytes) {
  const char *value = argument.value.c_str();
  char *end;
  double count = strtod(value, &end);
  int shift = -1;
  for (int power = 0; power < 5; ++power) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    if (!strcmp(end, units[power]))
      shift = 10 * power;
  }
  count = shift < 0 ? -1 : ldexp(count, shift);
  if (end == value || !(count >= 1) || count > 0x1p60)
    return wrongArgument("not a size such as 512MiB or 2GiB:", argument.text);
  bytes = uint64_t(count);
  return true;
}

bool frit::tools::parseTime(const Argument &argument, double &seconds) {
  const char *value = argument.value.c_str();
  char *end;
  seconds = strtod(value, &end);
  double unit = !strcmp(end, "us")                  ? 1e-6
                : !strcmp(end, "ms")                ? 1e-3
                : !strcmp(end, "s") || *end == '\0' ? 1
                                                    : -1;
  if (!*value || unit < 0 || !(seconds >= 0) || seconds > 1e6)
    return wrongArgument("not a time such as 200ms or 3s:", argument.text);
  seconds *= unit;
  return true;
}
