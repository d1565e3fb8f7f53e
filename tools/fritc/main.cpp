//===- main.cpp - fritc: compiles a model ---------------------------------===//

#include "PresentGpu.h"
#include "TuneOnGpu.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/Interrupts.h"
#include "compiler/driver/Outputs.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"

#include <cxxabi.h>
#include <exception>
#include <unistd.h>

/// Writes to stderr without allocating.
static void say(llvm::StringRef text) {
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

/// Exits because the machine lacks a resource, which is not a bug.
[[noreturn]] static void endWithout(llvm::StringRef what) {
  say("error: out of ");
  say(what);
  say("\n");
  frit::removeTemporaries();
  _exit(frit::kMachine);
}

/// Handles std::terminate: memory or threads may run out anywhere.
[[noreturn]] static void terminate() {
  if (const std::type_info *type = abi::__cxa_current_exception_type()) {
    if (type->name() == llvm::StringRef("St9bad_alloc"))
      endWithout("memory");
    if (type->name() == llvm::StringRef("St12system_error"))
      endWithout("threads");
  }
  abort();
}

int main(int argc, char **argv) {
  frit::handleInterrupts();
  llvm::InitLLVM init(argc, argv);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endWithout("memory"); });
  std::set_terminate(terminate);
  llvm::setBugReportMsg("This is a bug in frit: please report it with the "
                        "command line and the model.\n");
  // After a crash and its stack trace, exit with the documented status.
  llvm::sys::AddSignalHandler(
      [](void *) {
        frit::removeTemporaries();
        _exit(frit::kBug);
      },
      nullptr);
  frit::handleInterrupts();
  frit::watchInterrupts();
  int status = frit::kDone;
  auto options =
      frit::parseCommandLine(argc, argv, frit::findPresentGpu, status);
  frit::TuneOnGpu device;
  return frit::finishOutput("fritc",
                            options ? frit::compile(*options, device) : status);
}
