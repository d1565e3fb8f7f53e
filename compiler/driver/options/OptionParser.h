//===- OptionParser.h - Command lines from tables -------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H

#include "compiler/driver/Help.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Allocator.h"

namespace frit {

/// Lets messages have colours where they go to a terminal and the variable
/// NO_COLOR is not set.
void setUpColors();

/// A tool's table of options, as a .td file has it, and what is common to all
/// tools that have one: parsing, messages and help.
class OptionParser : public llvm::opt::GenericOptTable {
public:
  /// Parses the arguments behind the program's name, with those of response
  /// files, which become inputs that no output replaces. Nothing after an
  /// error, which is reported. The result refers to `argv` and to this.
  std::optional<llvm::opt::InputArgList> parse(int argc, char **argv);

  /// Reports wrong usage: "fritc: error: ...".
  void wrong(const llvm::Twine &message) const;
  /// That `value` is none of those that the table lists for `option`.
  void wrongValue(unsigned option, llvm::StringRef value) const;

  /// All that the value of an option may be; empty where the table has no list.
  std::vector<std::string> valuesOf(unsigned option) const;

  /// What --help says. The tool's sections of options are added to `help`.
  void addOptions(HelpTable &help, llvm::ArrayRef<unsigned> sections) const;

protected:
  /// For `tool`, whose argument UNKNOWN has this number.
  OptionParser(llvm::StringRef tool, const llvm::StringTable &names,
               llvm::ArrayRef<llvm::StringTable::Offset> prefixes,
               llvm::ArrayRef<Info> infos, unsigned unknown)
      : GenericOptTable(names, prefixes, infos), tool(tool), unknown(unknown) {}

private:
  /// Whether an option is for people to see.
  bool isShown(unsigned option) const;
  std::string nearestOption(llvm::StringRef argument) const;

  std::string tool;
  unsigned unknown;
  llvm::BumpPtrAllocator memory;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H
