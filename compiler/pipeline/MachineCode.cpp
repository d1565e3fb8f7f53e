//===- MachineCode.cpp - Machine code of a plan's kernels -----------------===//
//
// NVRTC compiles CUDA kernels, for all targets at once. LLVM compiles host
// kernels, one target at a time.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Passes.h"
#include "codegen/cuda/compile/CompileModules.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "compiler/pipeline/Pipeline.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace frit;

LogicalResult Pipeline::generateCode() {
  SmallVector<plan::TargetOp> cudaTargets;
  for (auto op : plans->module().getOps<plan::TargetOp>()) {
    StringRef arch = op.getArch();
    TimingScope scope = timing.nest("code for " + arch.str());
    llvm::SaveAndRestore named(target, arch.str());
    if (hostKernels.contains(arch)) {
      if (failed(compileHostKernels(op, scope)))
        return failure();
      continue;
    }
    if (failed(hooks.keepCuda(cuda::joinKernels(op).text, arch)))
      return failure();
    cudaTargets.push_back(op);
  }
  if (cudaTargets.empty() || options.last == Stage::cuda)
    return success();
  return compileCudaKernels(cudaTargets);
}

LogicalResult Pipeline::compileHostKernels(plan::TargetOp target,
                                           TimingScope &timing) {
  StringRef arch = target.getArch();
  PipelineHooks::Work work(hooks, "compile kernels for " + arch);
  auto machine = cpu::createMachine(arch, options.system);
  if (!machine)
    return emitError(target.getLoc()) << llvm::toString(machine.takeError());
  cpu::LoweredKernels lowered = std::move(hostKernels[arch]);
  for (cpu::UserSource &source : lowered.sources)
    if (llvm::none_of(userSources, [&](const cpu::UserSource &known) {
          return known.symbol == source.symbol;
        }))
      userSources.push_back(std::move(source));
  PipelinePasses passes(context, hooks, /*mustSucceed=*/true);
  cpu::addLLVMPasses(passes, **machine, arch);
  passes.enableTiming(timing);
  // Nearly all of these passes are upstream's, so verify only their result.
  passes.enableVerifier(false);
  if (failed(passes.run(*lowered.module)))
    return failure();
  if (failed(verify(*lowered.module)))
    return reportBug(context, hooks, "the machine code's IR is invalid");
  auto kernels =
      cpu::translateKernels(std::move(lowered), arch, options.system,
                            [&](size_t done, size_t total, StringRef next) {
                              hooks.update(done, total, next);
                            });
  if (failed(kernels))
    return reportBug(context, hooks, "LLVM's IR cannot be made");
  if (failed(hooks.keepHostCode(*kernels, **machine, arch)))
    return failure();
  // Kernels of several processors differ in names and instructions.
  llvm::move(*kernels, std::back_inserter(host));
  return success();
}

LogicalResult Pipeline::compileCudaKernels(ArrayRef<plan::TargetOp> targets) {
  TimingScope scope = timing.nest("NVRTC");
  {
    PipelineHooks::Work work(hooks, "compile kernels");
    if (failed(cuda::compileTargets(
            targets,
            options.last == Stage::device ? cuda::CompileAs::oneModule
                                          : cuda::CompileAs::modules,
            deviceCode,
            [&](size_t done, size_t total, StringRef next) {
              hooks.update(done, total, next);
            },
            [&](cuda::Culprit culprit) { hooks.blame(culprit); })))
      return failure();
  }
  for (plan::TargetOp target : targets)
    if (failed(hooks.keepDeviceCode(deviceCode[target.getArch()],
                                    target.getArch())))
      return failure();
  return success();
}
