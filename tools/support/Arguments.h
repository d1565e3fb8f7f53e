//===- Arguments.h - Parse the command line of a tool ---------------------===//
//
// The options that a tool's help lists are the options that it takes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_ARGUMENTS_H
#define FRIT_TOOLS_ARGUMENTS_H

#include "compiler/driver/Help.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace frit::tools {

enum class Parsed { run, helped, wrong };

/// One argument, taken apart: "--lr=0.1", or "--lr" followed by "0.1".
struct Argument {
  std::string text; ///< as it was typed; of two arguments, the first
  /// As in the help: "--lr=", or "-v" for a flag; empty if it is no option.
  std::string name;
  std::string value; ///< of an option; otherwise the whole argument
};

/// Calls `apply` for each argument; it prints an error before it returns false.
/// Prints help and version where they are asked for. An option that `help` does
/// not list is an error that names the nearest one.
Parsed parseArguments(int count, char **arguments, const HelpTable &help,
                      const std::function<bool(const Argument &)> &apply);

/// Prints "TOOL: message 'argument'hint" and returns false.
bool wrongArgument(std::string_view message, std::string_view argument,
                   std::string_view hint = "");

/// Each parses an argument's value, or prints what it should be and returns
/// false. A number is 0 or more and finite or not, a count from 1 to `most`.
bool parseNumber(const Argument &argument, double &result);
bool parseCount(const Argument &argument, uint64_t most, uint64_t &result);
/// Parses "200ms", "3s", "50us"; seconds without a unit.
bool parseTime(const Argument &argument, double &seconds);

} // namespace frit::tools

#endif // FRIT_TOOLS_ARGUMENTS_H
