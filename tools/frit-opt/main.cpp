//===- main.cpp - frit-opt: runs passes on .mlir --------------------------===//

#include "compiler/driver/OutputFile.h"
#include "tools/frit-opt/Manual.h"
#include "tools/frit-opt/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  frit::registerEverything(registry);
  // MLIR prints --help itself.
  llvm::StringRef first = argc == 2 ? argv[1] : "";
  if (first.consume_front("--help="))
    if (auto form = frit::parseHelpForm(first)) {
      llvm::outs() << printHelp(frit::optManual(), *form);
      return EXIT_SUCCESS;
    }
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "frit's passes on .mlir\n", registry);
  frit::protectInput(input);
  if (std::error_code error = frit::checkOutput(output)) {
    llvm::errs() << "frit-opt: cannot write '" << output
                 << "': " << error.message() << "\n";
    return EXIT_FAILURE;
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
