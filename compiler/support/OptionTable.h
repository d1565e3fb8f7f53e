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
};

/// Adds the options of the sections, in the order of `sections`, to the help.
/// Row i of `rows` has number i + 1.
void addOptions(HelpTable &help, std::span<const OptionRow> rows,
                std::span<const unsigned> sections);

} // namespace frit::options

#endif // FRIT_COMPILER_SUPPORT_OPTIONTABLE_H
