//===- CommandLine.h - Parse fritc's arguments ----------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_COMMANDLINE_H
#define FRIT_COMPILER_DRIVER_OPTIONS_COMMANDLINE_H

#include "compiler/driver/options/OptionTable.h"
#include "compiler/driver/options/Options.h"
#include "compiler/support/InputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace frit {

/// Returns the CPU target of this machine's processor.
llvm::StringRef hostArch();

/// Parser of the arguments into `options`. Each step returns false after an
/// error.
class CommandLine {
public:
  CommandLine(const FritcOptions &parser, const llvm::opt::InputArgList &args,
              FindGpu findGpu)
      : parser(parser), args(args), findGpu(findGpu) {}

  bool read() {
    return checkFiles() && readInput() && readOutput() && readTargets() &&
           readModel() && readWeights() && readQuantization() &&
           readDecoder() && readSampling() && readCode() && readWarnings() &&
           findUnused() && checkOutputs();
  }

  DriverOptions options;
  ExitStatus status = kDone;

private:
  bool wrong(const llvm::Twine &message, ExitStatus why = kBadUsage) {
    parser.wrong(message);
    status = why;
    return false;
  }
  /// Remembers that the run reads a file. Reports an error if it is a device,
  /// which may have no end.
  bool takeInput(const llvm::Twine &option, llvm::StringRef path) {
    if (std::error_code error = checkInput(path.str()))
      return wrong(option + ": cannot read '" + path + "': " + error.message(),
                   kBadInput);
    protectInput(path.str());
    return true;
  }
  /// Returns whether the table lists `value`. Reports an error if not.
  bool isValue(OptionId option, llvm::StringRef value) {
    if (llvm::is_contained(parser.valuesOf(option), value))
      return true;
    parser.wrongValue(option, value);
    status = kBadUsage;
    return false;
  }
  /// Returns the option's last value, which must be one of the table's;
  /// `otherwise` if the option is not given; none after an error.
  std::optional<llvm::StringRef> chosen(OptionId option,
                                        llvm::StringRef otherwise) {
    const llvm::opt::Arg *arg = args.getLastArg(option);
    if (!arg)
      return otherwise;
    if (isValue(option, arg->getValue()))
      return arg->getValue();
    return std::nullopt;
  }

  /// Checks that files have names: without one, options would be as good as not
  /// given.
  bool checkFiles();
  bool readInput();
  void findParts();
  bool findGenai(ModelInput &input);
  bool readOutput();
  bool readTargets();
  bool readMachine();
  std::string presentGpu();
  /// Reads an option about an input: for all models or, after ENTRY@, for one.
  bool forInputs(llvm::StringRef spec,
                 llvm::function_ref<bool(ModelInput &, llvm::StringRef)> read);
  bool readKept(llvm::StringRef path);
  bool readDataParallel();
  bool readModel();
  bool readTraining();
  bool readMemoryLimit();
  bool readTypes();
  bool readStates();
  bool readSizes();
  bool checkVariants();
  bool readWeights();
  /// Reads an option whose value is a number from `least` to `most`; an integer
  /// if `number` is one.
  template <class Number>
  bool readNumber(OptionId option, llvm::StringRef name, int64_t least,
                  int64_t most, std::optional<Number> &number);
  bool readQuantization();
  bool readSearch();
  bool checkDecoder(const ModelInput &input);
  bool checkCaches(const ModelInput &input);
  bool readDecoder();
  bool readSampling();
  bool readCode();
  bool readWarnings();
  bool readRemarks(OptionId option, std::string &expression);
  /// Notes the options that have no effect.
  bool findUnused();
  bool checkOutputs();
  /// Returns the output's path with another ending, for files beside it.
  std::string besideOutput(llvm::StringRef ending) const {
    llvm::SmallString<128> path(options.output);
    llvm::sys::path::replace_extension(path, ending);
    return path.str().str();
  }

  const FritcOptions &parser;
  const llvm::opt::InputArgList &args;
  FindGpu findGpu;
};

template <class Number>
bool CommandLine::readNumber(OptionId option, llvm::StringRef name,
                             int64_t least, int64_t most,
                             std::optional<Number> &number) {
  const llvm::opt::Arg *arg = args.getLastArg(option);
  if (!arg)
    return true;
  llvm::StringRef text = arg->getValue();
  Number value;
  bool isWrong;
  if constexpr (std::is_integral_v<Number>)
    isWrong = text.getAsInteger(10, value);
  else
    isWrong = text.getAsDouble(value);
  // NaN is not within any bounds.
  if (isWrong || !(value >= Number(least) && value <= Number(most)))
    return wrong(name + " takes a number from " + llvm::Twine(least) + " to " +
                 llvm::Twine(most) + ", not '" + text + "'");
  number = value;
  return true;
}

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_COMMANDLINE_H
