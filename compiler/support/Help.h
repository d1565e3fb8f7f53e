//===- Help.h - --help, the manual pages and completion of a tool ---------===//
//
// One table is the source of all of them. Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_HELP_H
#define FRIT_COMPILER_SUPPORT_HELP_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frit {

struct HelpOption {
  std::string section;
  /// Typed before the value: "-v", "--emit=", "-o ", "-O".
  std::string name;
  std::string metavar; ///< what the value is, "file"; empty for a flag
  std::string text;
  /// The possible values; empty if they are not a list.
  std::vector<std::string> values = {};
  unsigned use = 0; ///< what it is for: see OptionUse; 0 for all that runs
};

struct HelpTable {
  std::string tool;    ///< "fritc"
  std::string version; ///< "0.1.0"
  std::string purpose; ///< "compiles a model ahead of time"
  std::string
      synopsis; ///< what follows the tool's name, "model.onnx [options]"
  /// Ending of arguments that are not options, such as ".onnx".
  std::vector<std::string> inputs;
  std::vector<HelpOption> options; ///< sections are contiguous
  /// Exit statuses, each with its meaning.
  std::vector<std::pair<int, std::string>> statuses;
  /// Example commands, and what they do.
  std::vector<std::pair<std::string, std::string>> examples = {};
  /// Options that the tool does not have but users expect, such as
  /// "--accumulate=", and what there is instead. For errors only.
  std::vector<std::pair<std::string, std::string>> missing = {};
};

enum class HelpForm { text, man, markdown, bash, zsh };
/// Parses a form such as "man"; none if the text names no form.
std::optional<HelpForm> parseHelpForm(std::string_view name);

/// Returns the whole text. Lines for people have at most 80 columns.
std::string printHelp(const HelpTable &table, HelpForm form);

/// Returns the element of `known` that `text` most likely misspells; empty if
/// there is none.
std::string nearestTo(std::string_view text,
                      const std::vector<std::string> &known);

/// Formats a list: "a, b or c".
std::string listOf(const std::vector<std::string> &items);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_HELP_H
