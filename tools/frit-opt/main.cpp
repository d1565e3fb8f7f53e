//===- main.cpp - frit-opt: runs passes on .mlir --------------------------===//

#include "compiler/driver/OutputFile.h"
#include "frit/printable.h"
#include "tools/frit-opt/Manual.h"
#include "tools/frit-opt/PrintableDiagnostics.h"
#include "tools/frit-opt/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"

/// Returns why `path` cannot be read; success if nothing is known to prevent
/// it.
static std::error_code checkInput(llvm::StringRef path) {
  namespace fs = llvm::sys::fs;
  if (path == "-")
    return {};
  if (fs::is_directory(path))
    return std::make_error_code(std::errc::is_a_directory);
  return fs::access(path, fs::AccessMode::Exist);
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  frit::registerEverything(registry);
  frit::escapeDiagnostics(registry);
  // MLIR prints --help itself.
  llvm::StringRef first = argc == 2 ? argv[1] : "";
  if (first.consume_front("--help="))
    if (auto form = frit::parseHelpForm(first)) {
      llvm::outs() << printHelp(frit::optManual(), *form);
      return EXIT_SUCCESS;
    }
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "frit's passes on .mlir\n", registry);
  auto fail = [](const char *what, const std::string &path,
                 std::error_code error) {
    llvm::errs() << "frit-opt: cannot " << what << " '" << frit::printable(path)
                 << "': " << error.message() << "\n";
    return EXIT_FAILURE;
  };
  // MLIR would print these names as they are.
  if (std::error_code error = checkInput(input))
    return fail("read", input, error);
  frit::protectInput(input);
  if (output == "-") {
    if (std::error_code error = frit::checkOutput(output))
      return fail("write", output, error);
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  }
  // MLIR removes an output after an error, even a link to standard output.
  frit::OutputFile file;
  if (std::error_code error = frit::OutputFile::create(output, file))
    return fail("write", output, error);
  if (failed(mlir::MlirOptMain(argc, argv, input, file.path(), registry)))
    return EXIT_FAILURE;
  if (std::error_code error = file.commit())
    return fail("write", output, error);
  return EXIT_SUCCESS;
}
