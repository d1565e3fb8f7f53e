//===- OptionTable.h - Tables made from Options.td ------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONTABLE_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONTABLE_H

#include "compiler/driver/options/OptionParser.h"

namespace frit {

/// The options, by the names of Options.td: OPT_march_EQ.
enum OptionId : unsigned {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "compiler/driver/Options.inc"
#undef OPTION
};

/// Modes in which options have an effect, named as in Options.td.
enum : unsigned {
  Targets = llvm::opt::DefaultVis << 1,
  Gpus = Targets << 1,
  Artifact = Gpus << 1,
  HostCode = Artifact << 1,
  OneFile = HostCode << 1
};

/// fritc's command line.
class FritcOptions final : public OptionParser {
public:
  FritcOptions();
};

/// Returns the text of fritc --help.
HelpTable fritcHelp(const FritcOptions &parser);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONTABLE_H
