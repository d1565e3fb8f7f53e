//===- main.cpp - fritc: compiles a model ---------------------------------===//

#include "TuneOnGpu.h"
#include "compiler/driver/Compilation.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"

#include <unistd.h>

/// The GPU of this machine as an architecture, or nothing.
static std::string deviceArch() {
  frit::cuda::Gpu gpu;
  if (gpu.open(0).failed())
    return "";
  // Hopper and later have instructions of their own generation only.
  std::string arch = "sm_" + std::to_string(gpu.major * 10 + gpu.minor);
  return gpu.major == 9 ? arch + "a" : arch;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("This is a bug in frit: please report it with the "
                        "command line and the model.\n");
  // After the stack trace, a crash ends with the documented status.
  llvm::sys::AddSignalHandler([](void *) { _exit(frit::kBug); }, nullptr);
  int status = frit::kDone;
  auto options = frit::parseCommandLine(argc, argv, deviceArch, status);
  frit::TuneOnGpu device;
  return options ? frit::compile(*options, device) : status;
}
