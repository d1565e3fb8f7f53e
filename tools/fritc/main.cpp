//===- main.cpp - fritc: compiles a model ---------------------------------===//

#include "Linker.h"
#include "OutOfMemory.h"
#include "PresentGpu.h"
#include "RunSamples.h"
#include "TuneOnGpu.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/Outputs.h"
#include "compiler/support/Interrupts.h"
#include "compiler/support/Stack.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"

static int runMain(int argc, char **argv) {
  frit::handleInterrupts();
  frit::handleOutOfMemory();
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("This is a bug in frit: please report it with the "
                        "command line and the model.\n");
  // After a crash and its stack trace, exit with the documented status.
  llvm::sys::AddSignalHandler([](void *) { frit::endAtFault(frit::kBug, {}); },
                              nullptr);
  frit::handleInterrupts();
  frit::watchInterrupts();
  if (std::optional<int> linked = frit::runLinker(argc, argv))
    return *linked;
  int status = frit::kDone;
  auto options =
      frit::parseCommandLine(argc, argv, frit::findPresentGpu, status);
  frit::TuneOnGpu device;
  frit::RunSamples runner;
  return frit::finishOutput(
      "fritc", options ? frit::compile(*options, device, runner) : status);
}

int main(int argc, char **argv) {
  return frit::runOnLargeStack([&] { return runMain(argc, argv); });
}
