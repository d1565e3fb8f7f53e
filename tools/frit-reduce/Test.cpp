//===- Test.cpp - The interestingness test --------------------------------===//

#include "tools/frit-reduce/Test.h"

#include "compiler/driver/Status.h"
#include "compiler/support/Interrupts.h"
#include "compiler/support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

using namespace frit::reduce;
using llvm::StringRef;

llvm::Expected<Test> Test::create(StringRef program,
                                  std::vector<std::string> arguments,
                                  unsigned seconds, frit::Progress *progress) {
  Test test;
  auto found = llvm::sys::findProgramByName(program);
  if (!found || !llvm::sys::fs::can_execute(*found))
    return llvm::createStringError("cannot run the test '" + program +
                                   "': there is no such program");
  protectInput(*found);
  // The test's arguments may name files that it reads.
  for (const std::string &argument : arguments)
    protectInput(argument);
  test.program = *found;
  test.arguments = std::move(arguments);
  test.seconds = seconds;
  test.progress = progress;
  if (auto code = TemporaryFolder::create(test.folder))
    return ofMachine(llvm::createStringError(
        "cannot make a folder for models: " + code.message()));
  test.file = test.folder.file("model.onnx");
  return test;
}

llvm::Expected<bool> Test::isInteresting(const onnx::ModelProto &model) {
  std::string bytes = model.SerializeAsString();
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes));
  auto [known, isNew] = seen.try_emplace(llvm::toStringRef(digest), false);
  if (!isNew)
    return known->second;

  if (std::error_code code = writeFile(file, bytes))
    return ofMachine(llvm::createStringError("cannot write '" + file +
                                             "': " + code.message()));
  llvm::SmallVector<StringRef> command = {program};
  command.append(arguments.begin(), arguments.end());
  command.push_back(file);
  if (progress)
    progress->update(0, 0,
                     std::to_string(numRuns) + " tests, " +
                         std::to_string(model.graph().node_size()) + " nodes");
  // The test gets no input; its output is shown if the user asks.
  std::optional<StringRef> quiet[] = {"", "", ""};
  std::optional<StringRef> loud[] = {"", std::nullopt, std::nullopt};
  std::string message;
  bool couldNotRun = false;
  ChildSignals signals;
  status = llvm::sys::ExecuteAndWait(program, command, std::nullopt,
                                     progress ? quiet : loud, seconds,
                                     /*MemoryLimit=*/0, &message, &couldNotRun);
  if (couldNotRun)
    return llvm::createStringError("cannot run the test '" + program +
                                   "': " + message);
  ++numRuns;
  return known->second = status == 0;
}
