//===- HelpLists.cpp - The lists of operators and targets -----------------===//

#include "compiler/driver/options/HelpLists.h"

#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/NN.h"

#include "frit/host_arch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace frit;

void frit::printOperators(llvm::raw_ostream &os) {
  for (const nn::OperatorEntry &entry : nn::operators()) {
    llvm::StringRef name = entry.operation;
    name.consume_front("nn.");
    os << llvm::left_justify(name, 19) << llvm::left_justify(entry.onnx, 21)
       << (entry.hasGradient ? "gradient " : "-        ") << entry.summary
       << "\n";
  }
}

/// Prints one line of the list of targets.
static void printTarget(llvm::raw_ostream &os, llvm::StringRef target,
                        llvm::StringRef device, llvm::StringRef sms,
                        llvm::StringRef l2, llvm::StringRef rate,
                        llvm::StringRef uses) {
  os << llvm::formatv("{0,-11} {1,-13} {2,4} {3,7} {4,6}  {5}\n", target,
                      device, sms, l2, rate, uses);
}

void frit::printTargets(llvm::raw_ostream &os,
                        const std::vector<std::string> &targets) {
  printTarget(os, "target", "schedules for", "SMs", "L2 MiB", "GB/s", "uses");
  for (const std::string &target : targets) {
    if (const HostArch *host = findHostArch(target))
      printTarget(os, target, "any", "-", "-", "-", host->uses);
    if (!llvm::StringRef(target).starts_with("sm_"))
      continue;
    cuda::GpuArch arch = cuda::describeArch(target);
    if (arch.host != "any" && !llvm::is_contained(targets, arch.host))
      continue;
    std::string uses = "mma.sync";
    uses += arch.hasPdl ? ", PDL" : "";
    uses += arch.mma == cuda::Mma::wgmma ? ", TMA, WGMMA" : "";
    uses += arch.host != "any" ? ", beside " + arch.host : "";
    printTarget(os, target, arch.device, std::to_string(arch.sms),
                std::to_string(arch.l2Bytes >> 20),
                llvm::formatv("{0:F0}", arch.memoryRate / 1e3).str(), uses);
  }
}
