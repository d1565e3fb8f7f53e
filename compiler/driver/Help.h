//===- Help.h - --help, the manual pages and completion of a tool ---------===//
//
// All of them are made from one table. Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_HELP_H
#define FRIT_COMPILER_DRIVER_HELP_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frit {

struct HelpOption {
  std::string section;
  /// As it is typed up to its value: "-v", "--emit=", "-o ", "-O".
  std::string name;
  std::string metavar; ///< what the value is, "file"; empty for a flag
  std::string text;
  /// All that the value may be; empty where that is no list.
  std::vector<std::string> values = {};
};

struct HelpTable {
  std::string tool;    ///< "fritc"
  std::string version; ///< "0.1.0"
  std::string purpose; ///< "compiles a model ahead of time"
  std::string
      synopsis; ///< what follows the tool's name, "model.onnx [options]"
  /// What its arguments that are no options end with, ".onnx".
  std::vector<std::string> inputs;
  std::vector<HelpOption> options; ///< those of a section stand together
  /// Exit statuses, each with its meaning.
  std::vector<std::pair<int, std::string>> statuses;
  /// Commands, and what they do.
  std::vector<std::pair<std::string, std::string>> examples = {};
};

enum class HelpForm { text, man, markdown, bash, zsh };
/// "man", say; nothing for what is no form.
std::optional<HelpForm> parseHelpForm(std::string_view name);

/// The whole text, of lines of at most 80 columns where that is for people.
std::string printHelp(const HelpTable &table, HelpForm form);

/// The one of `known` that `text` is most likely a misspelling of; empty if it
/// is none.
std::string nearestTo(std::string_view text,
                      const std::vector<std::string> &known);

/// "a, b or c"
std::string listOf(const std::vector<std::string> &items);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_HELP_H
