//===- OptionTable.h - A tool's options, from its Options.td --------------===//
//
// What tables of llvm-tblgen are read by in plain C++, without LLVM. A file of
// the tool includes OptionTable.inc, which defines the table.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_OPTIONTABLE_H
#define FRIT_COMPILER_SUPPORT_OPTIONTABLE_H

#include "compiler/support/Help.h"

#include <span>

namespace frit::options {

enum class OptionKind {
  Group,
  Input,
  Unknown,
  Flag,
  Joined,
  Separate,
  JoinedOrSeparate
};

/// Flag of an option that --help does not show.
constexpr unsigned HelpHidden = 1;

/// An option or a section of the help. Texts are null where there are none.
struct OptionRow {
  const char *name; ///< with its first prefix: "--need="
  OptionKind kind;
  unsigned section; ///< of an option: its section's number; 0 for none
  bool isHidden;
  const char *help; ///< of a section: its title
  const char *metavar;
  const char *values; ///< "cuda,cudnn"
  unsigned use;       ///< a bit of the tool's, of Options.td; or DefaultVis
};

/// What options without For<...> are for: all that the tool does.
constexpr unsigned DefaultVis = 1;

/// What some options of a tool are for, and whether it is done.
struct OptionUse {
  unsigned use;
  bool isOn;
  const char *without; ///< "without --bench"
};

/// An option of the command line.
struct GivenOption {
  std::string name; ///< as typed, without a value
  unsigned use;
};

/// Returns why an option has no effect, "--warmup has no effect without
/// --bench"; empty if each has one. Uses that are not listed are not checked.
std::string findUnused(std::span<const GivenOption> given,
                       std::span<const OptionUse> uses);

/// Adds the options of the sections, in the order of `sections`, to the help.
/// Row i of `rows` has number i + 1.
void addOptions(HelpTable &help, std::span<const OptionRow> rows,
                std::span<const unsigned> sections);

} // namespace frit::options

#endif // FRIT_COMPILER_SUPPORT_OPTIONTABLE_H
