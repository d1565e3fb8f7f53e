//===- Linker.cpp - LLVM's linker inside fritc ----------------------------===//
//
// A machine that compiles models needs no compiler or linker of its own. fritc
// runs itself for this, because LLD has global state and may end the process.
//
//===----------------------------------------------------------------------===//

#include "Linker.h"
#include "compiler/driver/Linking.h"

#if FRIT_LLD
#include "lld/Common/Driver.h"
LLD_HAS_DRIVER(elf)
#endif

#if FRIT_LLD && FRIT_PORTABLE
#include "llvm/Plugins/PassPlugin.h"

// LLD refers to all of LLVM's targets and extensions, for link-time
// optimization, which no artifact needs. These stubs keep 80 MB of them out of
// fritc.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {},
          nullptr};
}
#define FRIT_WITHOUT(TARGET)                                                   \
  extern "C" void LLVMInitialize##TARGET##TargetInfo() {}                      \
  extern "C" void LLVMInitialize##TARGET##Target() {}                          \
  extern "C" void LLVMInitialize##TARGET##TargetMC() {}                        \
  extern "C" void LLVMInitialize##TARGET##AsmPrinter() {}                      \
  extern "C" void LLVMInitialize##TARGET##AsmParser() {}
FRIT_WITHOUT(AMDGPU)
FRIT_WITHOUT(ARM)
FRIT_WITHOUT(AVR)
FRIT_WITHOUT(BPF)
FRIT_WITHOUT(Hexagon)
FRIT_WITHOUT(Lanai)
FRIT_WITHOUT(LoongArch)
FRIT_WITHOUT(M68k)
FRIT_WITHOUT(MSP430)
FRIT_WITHOUT(Mips)
FRIT_WITHOUT(NVPTX)
FRIT_WITHOUT(PowerPC)
FRIT_WITHOUT(RISCV)
FRIT_WITHOUT(SPIRV)
FRIT_WITHOUT(Sparc)
FRIT_WITHOUT(SystemZ)
FRIT_WITHOUT(VE)
FRIT_WITHOUT(WebAssembly)
FRIT_WITHOUT(XCore)
FRIT_WITHOUT(Xtensa)
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
