//===- Arguments.h - Parse the command line of a tool ---------------------===//
//
// A tool accepts exactly the options that its help lists.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_ARGUMENTS_H
#define FRIT_TOOLS_SUPPORT_ARGUMENTS_H

#include "compiler/support/Help.h"
#include "compiler/support/OptionTable.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace frit::tools {

enum class Parsed { run, helped, wrong };

/// One parsed argument: "--lr=0.1", or "--lr" followed by "0.1".
struct Argument {
  std::string text; ///< as typed; the first of two arguments
  /// As in the help: "--lr=", or "-v" for a flag; empty if it is no option.
  std::string name;
  std::string value; ///< of an option; otherwise the whole argument
};

/// Calls `apply` for each argument; it prints an error before it returns false.
/// Prints help and version if requested. An option that `help` does not list is
/// an error that names the nearest one. Arguments after "--" are not options.
/// `given` gets the options that have one use.
Parsed parseArguments(int count, char **arguments, const HelpTable &help,
                      const std::function<bool(const Argument &)> &apply,
                      std::vector<options::GivenOption> *given = nullptr);

/// Returns whether all options have an effect; prints which one has none.
bool checkUses(const std::vector<options::GivenOption> &given,
               std::span<const options::OptionUse> uses);

/// Returns the values that the help lists for an option; empty if it has no
/// list.
std::vector<std::string> valuesOf(const HelpTable &help, std::string_view name);

/// Prints that the tool's table has an option that nothing applies, which is a
/// bug, and returns false.
bool unhandledOption(const Argument &argument);

/// An option that sets a field.
template <typename Options, typename T> struct Setting {
  const char *name; ///< as in the help
  T Options::*field;
};

/// Returns the field of `options` that an argument sets; null if the list has
/// no option of its name.
template <typename Options, typename T, size_t n>
T *findSetting(const Setting<Options, T> (&settings)[n],
               const Argument &argument, Options &options) {
  for (const Setting<Options, T> &setting : settings)
    if (argument.name == setting.name)
      return &(options.*setting.field);
  return nullptr;
}

/// Prints "TOOL: message 'argument'hint" and returns false.
bool wrongArgument(std::string_view message, std::string_view argument,
                   std::string_view hint = "");

/// Each parses an argument's value, or prints what it should be and returns
/// false. A number is finite and at least 0, a count is from 1 to `most`, and a
/// text is not empty.
bool parseNumber(const Argument &argument, double &result);
bool parseText(const Argument &argument, std::string &result);
bool parseCount(const Argument &argument, uint64_t most, uint64_t &result);
/// Parses "512MiB", "2GiB", "100000": bytes without a unit.
bool parseBytes(const Argument &argument, uint64_t &bytes);
/// Parses "200ms", "3s", "50us"; seconds without a unit.
bool parseTime(const Argument &argument, double &seconds);

/// Returns the exit status for a command line that is not to be run.
int statusOf(Parsed parsed);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_ARGUMENTS_H
