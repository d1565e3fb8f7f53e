//===- Linker.cpp - LLVM's linker inside fritc ----------------------------===//
//
// A machine that compiles models needs no compiler or linker of its own. fritc
// runs itself for this, because LLD has global state and may end the process.
//
//===----------------------------------------------------------------------===//

#include "Linker.h"
#include "compiler/driver/Outputs.h"

#if FRIT_LLD
#include "lld/Common/Driver.h"
LLD_HAS_DRIVER(elf)
#endif

using namespace frit;

std::optional<int> frit::runLinker(int argc, char **argv) {
  if (argc < 2 || argv[1] != llvm::StringRef(kLinkFlag))
    return std::nullopt;
#if FRIT_LLD
  llvm::SmallVector<const char *> arguments = {"ld.lld"};
  arguments.append(argv + 2, argv + argc);
  bool linked = lld::elf::link(arguments, llvm::outs(), llvm::errs(),
                               /*exitEarly=*/false, /*disableOutput=*/false);
  return linked ? kDone : kMachine;
#else
  llvm::errs() << "fritc: error: this build has no linker; install gcc, clang, "
                  "lld or mold\n";
  return kMachine;
#endif
}
