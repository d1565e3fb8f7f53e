//===- OptionParser.h - Command lines from tables -------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H

#include "compiler/support/OptionTable.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Allocator.h"

namespace frit {

/// Enables colours in messages if they go to a terminal and NO_COLOR is not
/// set.
void setUpColors();

/// A tool's options, from a table in a .td file: parsing, messages and help.
class OptionParser : public llvm::opt::GenericOptTable {
public:
  /// Parses the arguments after the program's name, and those in response
  /// files, which no output may replace. None after reporting an error. The
  /// result refers to `argv` and to this.
  std::optional<llvm::opt::InputArgList> parse(int argc, char **argv);

  /// Reports wrong usage: "fritc: error: ...".
  void wrong(const llvm::Twine &message) const;
  /// Reports that `value` is not among those that the table lists for `option`.
  void wrongValue(unsigned option, llvm::StringRef value) const;

  /// Returns why options have no effect, as findUnused() does, each once.
  std::vector<std::string>
  findUnused(const llvm::opt::InputArgList &args,
             llvm::ArrayRef<options::OptionUse> uses) const;

  /// Returns the possible values of an option; empty if the table has no list.
  std::vector<std::string> valuesOf(unsigned option) const;

  /// Returns the form that --help or --help=FORM asks for; none after reporting
  /// an unknown form.
  std::optional<HelpForm> helpForm(const llvm::opt::Arg &arg) const;

  /// Adds the tool's sections of options to the table of --help.
  void addOptions(HelpTable &help, llvm::ArrayRef<unsigned> sections) const;

protected:
  /// `unknown` is the number of the tool's option UNKNOWN.
  OptionParser(llvm::StringRef tool, const llvm::StringTable &names,
               llvm::ArrayRef<llvm::StringTable::Offset> prefixes,
               llvm::ArrayRef<Info> infos, unsigned unknown)
      : GenericOptTable(names, prefixes, infos), tool(tool), unknown(unknown) {
    // Arguments after "--" are no options.
    setDashDashParsing(true);
  }

private:
  /// Returns whether --help shows an option.
  bool isShown(unsigned option) const;
  std::string nearestOption(llvm::StringRef argument) const;

  std::string tool;
  unsigned unknown;
  llvm::BumpPtrAllocator memory;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONPARSER_H
