//===- Manual.cpp - The manual page and completion of frit-opt ------------===//
//
// MLIR prints --help; this lists the same passes for the manual page and for
// completion.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-opt/Manual.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

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
  auto add = [&](const char *section, const char *name, const char *metavar,
                 const char *text) {
    help.options.push_back({section, name, metavar, text});
  };
  add("Files", "-o ", "file", "Write the result to <file> (default: -)");
  add("Files", "--split-input-file", "",
      "Run on each part of the input, divided by lines of // -----");
  add("Files", "--verify-diagnostics", "",
      "Check that messages are those which the input's comments expect");
  add("Printing", "--mlir-print-ir-after-all", "",
      "Print the module after each pass");
  add("Printing", "--mlir-print-debuginfo", "",
      "Print the locations, which have the names of the model's nodes");
  add("Other", "--pass-pipeline=", "text",
      "Run the passes of <text>, as builtin.module(layout,fusion)");
  add("Other", "--help", "",
      "Show all options, with those of passes and of MLIR");
  add("Other", "--help=", "form", "Print man, markdown, bash or zsh");
  add("Other", "--version", "", "Show the version");
  for (HelpOption &row : passes())
    help.options.push_back(std::move(row));
  help.statuses = {{0, "done"}, {1, "the input or an option is at fault"}};
  help.examples = {
      {"fritc --emit=nn model.onnx -o model.mlir", "writes the imported graph"},
      {"frit-opt model.mlir --precision=mode=fp16 --simplify",
       "runs two passes on it"}};
  return help;
}
