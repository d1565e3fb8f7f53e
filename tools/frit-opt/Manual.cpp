//===- Manual.cpp - The manual page and completion of frit-opt ------------===//
//
// MLIR prints --help; this lists the options of Options.td and the registered
// passes for the manual page and for completion.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-opt/Manual.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

#include <array>

#define FRIT_OPTIONS "tools/frit-opt/Options.inc"
#include "compiler/support/OptionTable.inc"

using namespace mlir;
using namespace frit;

/// Returns the registered passes, by name.
static std::vector<HelpOption> passes() {
  PassPipelineCLParser parser("", "");
  std::vector<HelpOption> rows;
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (const PassInfo *pass = PassInfo::lookup(name))
      rows.push_back({"Passes, in the order that they are given",
                      "--" + name.str(), "", pass->getPassDescription().str()});
  llvm::sort(rows, [](const HelpOption &a, const HelpOption &b) {
    return a.name < b.name;
  });
  return rows;
}

HelpTable frit::optManual() {
  HelpTable help;
  help.tool = "frit-opt";
  help.version = FRIT_VERSION;
  help.purpose = "runs single passes of the compiler";
  help.synopsis = "model.mlir [options]";
  help.inputs = {".mlir"};
  namespace table = options;
  addOptions(help, table::kOptions,
             std::array<unsigned, 3>{table::OPT_files_Group,
                                     table::OPT_printing_Group,
                                     table::OPT_other_Group});
  for (HelpOption &row : passes())
    help.options.push_back(std::move(row));
  help.statuses = {{0, "done"},
                   {1, "the input or an option is at fault"},
                   {2, "an output is one of the files that are read"},
                   {4, "an output cannot be written"}};
  help.examples = {
      {"fritc --emit=nn model.onnx -o model.mlir", "writes the imported graph"},
      {"frit-opt model.mlir --precision=mode=fp16 --simplify",
       "runs two passes on it"}};
  return help;
}
