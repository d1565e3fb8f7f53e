//===- FitMemory.cpp - -fmemory-limit -------------------------------------===//
//
// A training step that exceeds the memory limit recomputes values of the
// forward pass. This picks the cheapest of the choices in Recompute.h whose
// plan fits. The choices' estimates decide which plans are made.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipeline.h"
#include "compiler/training/gradients/Recompute.h"

#include "frit/units.h"

using namespace mlir;
using namespace frit;

/// Returns the bytes of device memory that a planned function takes: state,
/// prepared weights and the arena of a call.
static int64_t memoryOf(StringRef function, plan::TargetOp target,
                        ModuleOp plans) {
  int64_t arena = 0;
  for (plan::CommandListOp list : target.getMains(function))
    arena = std::max(arena, int64_t(list.getArenaBytes().value_or(0)));
  int64_t sum = arena + int64_t(target.getPreparedBytes().value_or(0));
  for (auto state : plans.getOps<plan::StateOp>())
    sum += int64_t(plan::byteSize(state.getType()));
  return sum;
}

/// Plans a copy of a fused function and returns the bytes that it takes.
FailureOr<int64_t> Pipeline::measureMemory(const EntryPoint &entry,
                                           const nn::Target &target,
                                           ModuleOp fused,
                                           PipelinePasses &planning,
                                           TimingScope &timing) {
  OwningOpRef<ModuleOp> copy = fused.clone();
  planning::Plans trial(fused.getLoc());
  PipelinePasses placing(context, hooks, /*mustSucceed=*/true);
  addMemoryPasses(placing);
  if (failed(planning.run(*copy)) || failed(trial.add(*copy, entry.name)))
    return failure();
  plan::TargetOp planned = trial.target(target.arch());
  // The workspaces of host kernels are known once they are loops.
  if (target.isHost() && failed(lowerHostKernels(planned, timing)))
    return failure();
  if (failed(placing.run(trial.module())))
    return failure();
  return memoryOf(entry.name, planned, trial.module());
}

/// Recomputes kernels of a fused training step, as few as needed to meet the
/// limit.
LogicalResult Pipeline::fitMemory(const EntryPoint &entry,
                                  const nn::Target &target, ModuleOp fused,
                                  PipelinePasses &planning,
                                  TimingScope &timing) {
  TimingScope scope = timing.nest("recompute");
  int64_t limit = *options.memoryLimit;
  auto first = measureMemory(entry, target, fused, planning, scope);
  if (failed(first))
    return failure();
  if (*first <= limit || !entry.training->recomputesToFit)
    return success();
  auto main = fused.lookupSymbol<func::FuncOp>("main");
  std::vector<RecomputeChoice> choices = findRecomputeChoices(main);
  int64_t least = *first, beyond = *first - choices.front().bytes;
  for (RecomputeChoice &choice : llvm::drop_begin(choices)) {
    bool isLast = &choice == &choices.back();
    if (choice.bytes + beyond > limit && !isLast)
      continue;
    OwningOpRef<ModuleOp> trial = fused.clone();
    recompute(trial->lookupSymbol<func::FuncOp>("main"), choice.kernels);
    auto bytes = measureMemory(entry, target, *trial, planning, scope);
    if (failed(bytes))
      return failure();
    least = std::min(least, *bytes);
    if (*bytes > limit)
      continue;
    recompute(main, choice.kernels);
    hooks.say(Twine(choice.kernels.size()) +
              " kernels of the forward pass may run again: " +
              memoryText(*bytes) + " instead of " + memoryText(*first));
    return success();
  }
  return emitError(fused.getLoc())
         << "training for " << target.arch() << " takes at least "
         << memoryText(least)
         << " of memory, even where values are computed again, and "
            "-fmemory-limit allows "
         << memoryText(limit) << "; a smaller batch with 'accumulate'"
         << (StringRef(options.precision).starts_with("amp-")
                 ? ""
                 : ", or -fprecision=amp-bf16,")
         << " takes less";
}

/// Checks that every function fits into the limit.
LogicalResult Pipeline::checkMemory() {
  if (!options.memoryLimit)
    return success();
  ModuleOp all = plans->module();
  for (auto target : all.getOps<plan::TargetOp>())
    for (const EntryPoint &entry : entries) {
      int64_t bytes = memoryOf(entry.name, target, all);
      if (bytes <= *options.memoryLimit)
        continue;
      InFlightDiagnostic error = emitError(all.getLoc());
      if (entries.size() > 1)
        error << "'" << entry.name << "' ";
      else
        error << "the model ";
      return error << "takes " << memoryText(bytes) << " of memory for "
                   << target.getArch() << ", and -fmemory-limit allows "
                   << memoryText(*options.memoryLimit);
    }
  return success();
}
