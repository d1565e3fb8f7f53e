//===- main.cpp - frit-reduce: makes a failing model small ----------------===//

#include "tools/frit-reduce/Reduce.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace frit::reduce;
using llvm::StringRef;
namespace cl = llvm::cl;

namespace {

enum Status { kDone = 0, kBadInput = 1, kBadUsage = 2 };

cl::OptionCategory category("frit-reduce options");
cl::opt<std::string> input(cl::Positional, cl::desc("<model.onnx>"),
                           cl::cat(category));
cl::opt<std::string> output("o", cl::desc("Write the smallest model to <file>"),
                            cl::value_desc("file"), cl::init("reduced.onnx"),
                            cl::cat(category));
cl::opt<std::string>
    program("test",
            cl::desc("A program that ends with 0 on a model that still fails; "
                     "its last argument is the model's file"),
            cl::value_desc("program"), cl::cat(category));
cl::list<std::string> testArguments("test-arg",
                                    cl::desc("An argument for the test, "
                                             "before the model"),
                                    cl::value_desc("argument"),
                                    cl::cat(category));
cl::opt<unsigned> seconds("timeout",
                          cl::desc("A test that takes longer does not find the "
                                   "model failing (default: no limit)"),
                          cl::value_desc("seconds"), cl::init(0),
                          cl::cat(category));
cl::opt<bool> verbose("v",
                      cl::desc("Say what is done, and show what the test "
                               "prints"),
                      cl::cat(category));

} // namespace

static int fail(Status status, const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "frit-reduce") << message << "\n";
  return status;
}

/// "3 nodes, 2 inputs, 1 weight, 1 output"
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

static llvm::Error write(const onnx::ModelProto &model) {
  llvm::Error error = llvm::writeToOutput(output, [&](llvm::raw_ostream &out) {
    out << model.SerializeAsString();
    return llvm::Error::success();
  });
  if (!error)
    return error;
  return llvm::createStringError("cannot write '" + output +
                                 "': " + llvm::toString(std::move(error)));
}

static llvm::Error run() {
  auto inFile = [](llvm::Error error) {
    return llvm::createStringError(input + ": " +
                                   llvm::toString(std::move(error)));
  };
  auto model = readModel(input);
  if (!model)
    return inFile(model.takeError());
  std::vector<std::string> arguments(testArguments.begin(),
                                     testArguments.end());
  auto test = Test::create(program, std::move(arguments), seconds, !verbose);
  if (!test)
    return test.takeError();
  auto interesting = test->isInteresting(*model);
  if (!interesting)
    return interesting.takeError();
  if (!*interesting)
    return llvm::createStringError(
        input + ": the test must end with 0 on this model, but ends with " +
        llvm::Twine(test->lastStatus()));

  std::string before = sizeText(*model);
  Knowledge known = learn(*model, input);
  llvm::Error failure = llvm::Error::success();
  auto keep = [&](llvm::Error error) {
    failure = llvm::joinErrors(std::move(failure), std::move(error));
  };
  keep(write(*model));
  // What is written at any moment fails and is the smallest so far.
  keep(reduce(*model, known, *test, [&](StringRef pass) {
    if (verbose)
      llvm::errs() << pass << ": " << sizeText(*model) << " after "
                   << test->runs() << " tests\n";
    keep(write(*model));
  }));
  if (!failure)
    llvm::outs() << output << ": " << sizeText(*model) << " (of " << before
                 << "), " << test->runs() << " tests\n";
  return failure;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "frit-reduce (frit) " FRIT_VERSION "\n";
  });
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "frit-reduce: makes a model small that still fails\n\n"
          "Exit status: 0 done, 1 the input is at fault, 2 wrong usage.\n",
          &errors)) {
    llvm::errs() << message;
    return kBadUsage;
  }
  if (input.empty() || program.empty())
    return fail(kBadUsage, "it takes a model and a test: frit-reduce "
                           "model.onnx --test=PROGRAM -o small.onnx");
  if (llvm::Error error = run())
    return fail(kBadInput, llvm::toString(std::move(error)));
  return kDone;
}
