//===- main.cpp - frit-reduce: makes a failing model small ----------------===//

#include "compiler/driver/Outputs.h"
#include "compiler/driver/Status.h"
#include "compiler/driver/options/OptionParser.h"
#include "compiler/support/Interrupts.h"
#include "compiler/support/Progress.h"
#include "compiler/support/Stack.h"
#include "tools/frit-reduce/Reduce.h"

#include "frit/printable.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace frit::reduce;
using llvm::StringRef;

namespace {

enum OptionId : unsigned {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "tools/frit-reduce/Options.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "tools/frit-reduce/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "tools/frit-reduce/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

using namespace llvm::opt;
constexpr OptTable::Info infos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "tools/frit-reduce/Options.inc"
#undef OPTION
};

class Parser final : public frit::OptionParser {
public:
  Parser()
      : OptionParser("frit-reduce", OptionStrTable, OptionPrefixesTable, infos,
                     OPT_UNKNOWN) {}
};

struct Options {
  std::string input, output, program;
  std::vector<std::string> testArguments;
  unsigned seconds = 0;
  bool verbose = false;
};

} // namespace

static frit::HelpTable helpOf(const Parser &parser) {
  frit::HelpTable help;
  help.tool = "frit-reduce";
  help.version = FRIT_VERSION;
  help.purpose = "makes a model small that still fails";
  help.synopsis = "model.onnx --test=program [-o small.onnx] [options]";
  help.inputs = {".onnx"};
  parser.addOptions(help, {OPT_all_Group});
  help.examples = {{"frit-reduce model.onnx --test=./fails -o small.onnx",
                    "the smallest model on which ./fails ends with 0"}};
  help.statuses = {
      {frit::kDone, "done"},
      {frit::kBadInput, "the input is at fault"},
      {frit::kBadUsage, "wrong usage"},
      {frit::kMachine, "an output, or a file for the test, cannot be written"}};
  return help;
}

static int fail(int status, const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "frit-reduce")
      << frit::printable(message.str()) << "\n";
  return status;
}

/// Formats the model's size: "3 nodes, 2 inputs, 1 weight, 1 output".
static std::string sizeText(const onnx::ModelProto &model) {
  std::string text;
  auto add = [&](int count, StringRef what) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            what.str() + (count == 1 ? "" : "s");
  };
  add(model.graph().node_size(), "node");
  add(model.graph().input_size(), "input");
  add(model.graph().initializer_size(), "weight");
  add(model.graph().output_size(), "output");
  return text;
}

static llvm::Error run(const Options &options) {
  const std::string &input = options.input;
  auto inFile = [&](llvm::Error error) {
    return llvm::createStringError(input + ": " +
                                   llvm::toString(std::move(error)));
  };
  auto model = readModel(input);
  if (!model)
    return inFile(model.takeError());
  std::optional<frit::Progress> progress;
  if (!options.verbose)
    progress.emplace("reduce " + input);
  auto test = Test::create(options.program, options.testArguments,
                           options.seconds, progress ? &*progress : nullptr);
  if (!test)
    return test.takeError();
  // Check the output first, not after hours of tests.
  if (llvm::Error error =
          refusalError(frit::checkOutputs({{{"-o", options.output}}})))
    return error;
  auto interesting = test->isInteresting(*model);
  if (!interesting)
    return interesting.takeError();
  if (!*interesting)
    return llvm::createStringError(
        input + ": the test must end with 0 on this model, but ends with " +
        llvm::Twine(test->lastStatus()));

  std::string before = sizeText(*model);
  Knowledge known = learn(*model, input);
  // Standard output gets only the last model.
  bool isStream = frit::isStreamOutput(options.output);
  auto write = [&] {
    return frit::writeText(options.output, model->SerializeAsString());
  };
  llvm::Error failure = llvm::Error::success();
  auto keep = [&](llvm::Error error) {
    failure = llvm::joinErrors(std::move(failure), std::move(error));
  };
  // At any moment the file holds the smallest failing model so far.
  if (!isStream)
    keep(write());
  keep(reduce(*model, known, *test, [&](StringRef pass) {
    if (options.verbose)
      llvm::errs() << pass << ": " << sizeText(*model) << " after "
                   << test->runs() << " tests\n";
    if (!isStream)
      keep(write());
  }));
  if (isStream)
    keep(write());
  progress.reset();
  if (!failure)
    (isStream ? llvm::errs() : llvm::outs())
        << options.output << ": " << sizeText(*model) << " (of " << before
        << "), " << test->runs() << " tests\n";
  return failure;
}

static int runTool(int argc, char **argv) {
  Parser parser;
  std::optional<InputArgList> args = parser.parse(argc, argv);
  if (!args)
    return frit::kBadUsage;
  if (const Arg *arg = args->getLastArg(OPT_help, OPT_help_EQ)) {
    auto form = parser.helpForm(*arg);
    if (!form)
      return frit::kBadUsage;
    llvm::outs() << frit::printHelp(helpOf(parser), *form);
    return frit::kDone;
  }
  if (args->hasArg(OPT_version)) {
    llvm::outs() << "frit-reduce (frit) " FRIT_VERSION "\n";
    return frit::kDone;
  }
  std::vector<std::string> inputs = args->getAllArgValues(OPT_INPUT);
  Options options;
  options.program = args->getLastArgValue(OPT_test_EQ).str();
  if (inputs.size() != 1 || options.program.empty())
    return fail(frit::kBadUsage, "it takes a model and a test: frit-reduce "
                                 "model.onnx --test=PROGRAM -o small.onnx");
  options.input = inputs.front();
  options.output = args->getLastArgValue(OPT_o, "reduced.onnx").str();
  options.testArguments = args->getAllArgValues(OPT_test_arg_EQ);
  options.verbose = args->hasArg(OPT_v);
  StringRef seconds = args->getLastArgValue(OPT_timeout_EQ, "0");
  if (seconds.getAsInteger(10, options.seconds))
    return fail(frit::kBadUsage,
                "--timeout takes seconds, not '" + seconds + "'");
  if (llvm::Error error = run(options)) {
    int status = frit::statusOf(error);
    return fail(status, llvm::toString(std::move(error)));
  }
  return frit::kDone;
}

static int runMain(int argc, char **argv) {
  frit::handleInterrupts();
  llvm::InitLLVM init(argc, argv);
  frit::handleInterrupts();
  frit::setUpColors();
  return frit::finishOutput("frit-reduce", runTool(argc, argv));
}

int main(int argc, char **argv) {
  return frit::runOnLargeStack([&] { return runMain(argc, argv); });
}
