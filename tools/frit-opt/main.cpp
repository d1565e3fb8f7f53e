//===- main.cpp - frit-opt: runs passes on .mlir --------------------------===//

#include "compiler/driver/Status.h"
#include "compiler/support/InputFile.h"
#include "compiler/support/Interrupts.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Stack.h"
#include "frit/printable.h"
#include "tools/frit-opt/Manual.h"
#include "tools/frit-opt/PrintableDiagnostics.h"
#include "tools/frit-opt/Registration.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

/// Returns why `path` cannot be read; success if nothing is known to prevent
/// it.
static std::error_code checkInput(llvm::StringRef path) {
  namespace fs = llvm::sys::fs;
  if (path == "-")
    return {};
  if (fs::is_directory(path))
    return std::make_error_code(std::errc::is_a_directory);
  if (std::error_code error = frit::checkInput(path.str()))
    return error;
  return fs::access(path, fs::AccessMode::Exist);
}

/// Returns why the outputs are refused. MLIR and LLVM have options of their own
/// that name files: none may be the input, or the output too.
static frit::OutputRefusal checkOutputs(llvm::ArrayRef<char *> arguments,
                                        const std::string &output) {
  unsigned inputs = 0, outputs = 0;
  for (llvm::StringRef argument : arguments) {
    auto [option, value] = argument.split('=');
    bool isOption = argument.starts_with("-") && !value.empty();
    std::string path = (isOption ? value : argument).str();
    if (path == "-")
      continue;
    // The input is named once, by no option.
    bool isInput = frit::checkOutput(path) == frit::OutputFault::isInput;
    if (isInput && (isOption || ++inputs > 1))
      return {frit::OutputFault::isInput,
              describeOutputError(path, frit::OutputFault::isInput)};
    if (output != "-" && frit::isSameOutput(path, output) && ++outputs > 1)
      return {frit::OutputFault::isOutput,
              "two options write the same file, '" + path + "'"};
  }
  return frit::checkOutputs({{{"-o", output}}});
}

/// Returns what has no effect on a list of dialects or passes, which goes to
/// the standard output; "" if nothing has.
static std::string findUnused(const mlir::MlirOptMainConfig &config,
                              const std::string &output) {
  if (!config.shouldShowDialects() && !config.shouldListPasses())
    return "";
  std::string list =
      config.shouldShowDialects() ? "--show-dialects" : "--list-passes";
  if (output != "-")
    return "-o has no effect with " + list;
  if (config.shouldShowDialects() && config.shouldListPasses())
    return "--list-passes has no effect with " + list;
  return "";
}

/// Runs the passes and prints the result to `out`; lists of passes and dialects
/// go to the standard output.
static mlir::LogicalResult transform(int argc, char **argv,
                                     const std::string &input,
                                     const mlir::MlirOptMainConfig &config,
                                     mlir::DialectRegistry &registry,
                                     llvm::raw_ostream &out) {
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::MlirOptMain(argc, argv, input, "-", registry);
  std::string error;
  auto file = mlir::openInputFile(input, &error);
  if (!file) {
    llvm::errs() << "frit-opt: " << frit::printable(error) << "\n";
    return mlir::failure();
  }
  return mlir::MlirOptMain(out, std::move(file), registry, config);
}

/// Runs the tool. Returns its exit status.
static int runTool(int argc, char **argv) {
  frit::handleInterrupts();
  llvm::InitLLVM init(argc, argv);
  frit::handleInterrupts();
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
  auto fail = [](const std::string &message, std::error_code error) {
    llvm::errs() << "frit-opt: " << frit::printable(message) << "\n";
    return frit::isOutputFault(error) ? int(frit::kBadUsage) : EXIT_FAILURE;
  };
  auto failToWrite = [&](const std::string &message, std::error_code error) {
    int status = fail(message, error);
    return status == frit::kBadUsage ? status : int(frit::kMachine);
  };
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (std::string unused = findUnused(config, output); !unused.empty()) {
    fail(unused, {});
    return frit::kBadUsage;
  }
  // MLIR would print these names as they are.
  if (std::error_code error = checkInput(input))
    return fail("cannot read '" + input + "': " + error.message(), error);
  frit::protectInput(input);
  if (auto refusal =
          checkOutputs(llvm::ArrayRef(argv, size_t(argc)).drop_front(), output);
      refusal.code)
    return failToWrite(refusal.message, refusal.code);
  // MLIR removes an output after an error, even a link to standard output, and
  // LLVM ends the program where it cannot write.
  std::string written;
  llvm::raw_string_ostream out(written);
  mlir::LogicalResult done =
      transform(argc, argv, input, config, registry, out);
  if (output == "-")
    llvm::outs() << written;
  if (failed(done) || output == "-")
    return mlir::asMainReturnCode(done);
  if (std::error_code error = frit::writeFile(output, written))
    return failToWrite(frit::describeOutputError(output, error), error);
  return EXIT_SUCCESS;
}

static int runMain(int argc, char **argv) {
  int status = runTool(argc, argv);
  // LLVM would end the program with another status and message.
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  if (!error)
    return status;
  llvm::errs() << "frit-opt: cannot write to the standard output: "
               << error.message() << "\n";
  return frit::kMachine;
}

int main(int argc, char **argv) {
  return frit::runOnLargeStack([&] { return runMain(argc, argv); });
}
