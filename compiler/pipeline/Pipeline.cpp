//===- Pipeline.cpp - From a model to code, in order ----------------------===//
//
// Read this file first: it is the compiler's table of contents. Pipeline::run
// has the stages, from the model's file to the artifact. The functions that it
// calls follow in the same order, except the import (ImportModel.cpp,
// ImportDecoder.cpp and ImportCaches.cpp for a language model, and
// TrainingEntries.cpp for a model that trains), what does not depend on the
// target (SimplifyModel.cpp), machine code (MachineCode.cpp) and the passes of
// each stage, which PassLists.cpp lists in their order: read it next.
// EntryPoint.h has the functions that an artifact gets.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipeline.h"

#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cuda/compile/EmitKernels.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/target/CudaDialect.h"
#include "compiler/planning/Passes.h"
#include "compiler/transform/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/SaveAndRestore.h"

#include <chrono>

using namespace mlir;
using namespace frit;

LogicalResult Pipeline::run(MutableArrayRef<ModelSource> sources) {
  // ONNX, JSON or a language model to nn, once for each combination of sizes.
  for (ModelSource &source : sources)
    if (failed(!source.decoder        ? import(source)
               : source.file          ? importCaches(source)
               : source.parts.empty() ? importDecoder(source)
                                      : importPair(source)))
      return failure();
  warnOfKeptNames();
  if (options.last == Stage::imported) {
    tellMemory();
    return success();
  }
  // Simplify the models, apply the precision, and add a loss for training.
  if (failed(simplify()))
    return failure();
  if (options.last == Stage::simplified)
    return success();
  return compileTargets();
}

LogicalResult Pipeline::compile(EntryPoint entry) {
  entries.push_back(std::move(entry));
  return compileTargets();
}

LogicalResult Pipeline::compileTargets() {
  // For each target and function: layout, fusion, schedules, a plan, and the
  // text or loops of its kernels.
  plans.emplace(entries.front().model.modules.front()->getLoc());
  for (const std::string &arch : options.archs)
    if (failed(compileFor(arch)))
      return failure();
  if (options.last == Stage::fused)
    return success();
  // Place all buffers of a call in one arena.
  if (failed(placeMemory()))
    return failure();
  if (options.last == Stage::plan)
    return success();
  // Machine code, by NVRTC and LLVM.
  if (failed(generateCode()))
    return failure();
  if (options.last != Stage::artifact)
    return success();
  // Plan, code and weights as one image.
  return makeArtifact();
}

//===----------------------------------------------------------------------===//
// One target
//===----------------------------------------------------------------------===//

/// Returns the name under which a stage of a variant is kept. It begins with
/// the function and the variant if there are several.
std::string Pipeline::nameOf(const EntryPoint &entry, size_t variant,
                             const Twine &stage) const {
  std::string name = entry.name + entry.model.suffixes[variant] + ".";
  return (name == "main." ? "" : name) + stage.str();
}

cuda::CudaOptions PipelineOptions::cudaFor(StringRef arch) const {
  cuda::CudaOptions own = cuda;
  own.arch = arch;
  return own;
}

std::unique_ptr<nn::Target> frit::createTarget(const PipelineOptions &options,
                                               StringRef arch) {
  if (cuda::isCudaArch(arch))
    return std::make_unique<cuda::CudaTarget>(options.cudaFor(arch));
  return std::make_unique<cpu::CpuTarget>(arch);
}

LogicalResult Pipeline::compileFor(StringRef arch) {
  auto wanted = hooks.wantsTarget(arch);
  if (failed(wanted))
    return failure();
  if (!*wanted)
    return success();
  hooks.say("compile for " + arch);
  TimingScope scope = timing.nest("passes for " + arch.str());
  llvm::SaveAndRestore named(target, arch.str());
  std::unique_ptr<nn::Target> described = createTarget(options, arch);
  if (options.tune && !described->isHost() && failed(tune(arch, scope)))
    return failure();

  PipelineHooks::Work work(hooks, "optimise for " + arch);
  for (EntryPoint &entry : entries)
    if (failed(planEntry(entry, *described, scope)))
      return failure();
  if (options.last == Stage::fused)
    return success();
  // The functions' variants share the target's kernels.
  plan::TargetOp planned = plans->target(arch);
  return described->isHost() ? lowerHostKernels(planned, scope)
                             : emitKernels(planned, scope);
}

/// Adds an entry point's plan for a target to `plans`.
LogicalResult Pipeline::planEntry(EntryPoint &entry, const nn::Target &target,
                                  TimingScope &scope) {
  PipelinePasses fusing(context, hooks), planning(context, hooks);
  addTargetPasses(fusing, target, options, entry, compressed);
  fusing.enableTiming(scope);
  addPlanPasses(planning, target, options, entry);
  planning.enableTiming(scope);
  StringRef arch = target.arch();
  auto start = std::chrono::steady_clock::now();
  for (auto [i, variant] : llvm::enumerate(entry.model.modules)) {
    OwningOpRef<ModuleOp> clone = variant->clone();
    if (failed(fusing.run(*clone)) ||
        failed(hooks.keep(Stage::fused, *clone,
                          nameOf(entry, i, arch + ".fused"))))
      return failure();
    if (options.last == Stage::fused)
      continue;
    // With a memory limit, values are recomputed to save memory.
    if (options.memoryLimit && entry.isTrainStep() &&
        failed(fitMemory(entry, target, *clone, planning, scope)))
      return failure();
    if (failed(planning.run(*clone)))
      return failure();
    if (failed(plans->add(*clone, entry.name + entry.model.suffixes[i])))
      return failure();
    if (i == 0) {
      std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - start;
      announceVariants(entry, target, taken.count());
    }
  }
  return success();
}

/// Times the contractions of every variant, in the fusions for the target.
LogicalResult Pipeline::tune(StringRef arch, TimingScope &timing) {
  TimingScope scope = timing.nest("tuning");
  cuda::CudaOptions untuned = options.cudaFor(arch);
  untuned.tuning = nullptr;
  cuda::CudaTarget target(untuned);
  size_t count = 0;
  for (EntryPoint &entry : entries)
    count += entry.model.modules.size();
  for (EntryPoint &entry : entries) {
    PipelinePasses passes(context, hooks);
    addTargetPasses(passes, target, options, entry, compressed);
    for (OwningOpRef<ModuleOp> &variant : entry.model.modules) {
      OwningOpRef<ModuleOp> clone = variant->clone();
      if (failed(passes.run(*clone)) ||
          failed(options.tune(*clone, untuned, 1. / count)))
        return failure();
    }
  }
  return success();
}

LogicalResult Pipeline::emitKernels(plan::TargetOp target,
                                    TimingScope &timing) {
  PipelinePasses passes(context, hooks, /*mustSucceed=*/false,
                        plan::TargetOp::getOperationName());
  // Each kernel gets its CUDA C++, launch, tensor maps and module.
  passes.addPass(
      cuda::createEmitKernelsPass(options.cudaFor(target.getArch())));
  passes.enableTiming(timing);
  return passes.run(target);
}

/// Lowers host kernels until their workspaces, which the arena holds, are
/// known.
LogicalResult Pipeline::lowerHostKernels(plan::TargetOp target,
                                         TimingScope &timing) {
  TimingScope scope = timing.nest("loops");
  cpu::LoweredKernels kernels = cpu::lowerFusions(target);
  PipelinePasses passes(context, hooks, /*mustSucceed=*/true);
  // Elementwise loops merge; the outermost one runs over work items.
  cpu::addLoopFusionPasses(passes);
  passes.addNestedPass<func::FuncOp>(cpu::createTileOuterLoopsPass());
  passes.addNestedPass<func::FuncOp>(cpu::createMergeLoopsPass());
  // Tensors become buffers, and allocations parts of the workspace.
  passes.addNestedPass<func::FuncOp>(cpu::createStoreResultsPass());
  cpu::addBufferizationPasses(passes);
  passes.addNestedPass<func::FuncOp>(cpu::createPlaceAllocationsPass());
  // Merged loop nests over contiguous buffers become one loop each.
  passes.addNestedPass<func::FuncOp>(cpu::createFlattenLoopsPass());
  passes.enableTiming(scope);
  if (failed(passes.run(*kernels.module)))
    return failure();
  cpu::recordWork(kernels);
  hostKernels[target.getArch()] = std::move(kernels);
  return success();
}

//===----------------------------------------------------------------------===//
// All targets
//===----------------------------------------------------------------------===//

LogicalResult Pipeline::placeMemory() {
  TimingScope scope = timing.nest("memory");
  PipelinePasses passes(context, hooks, /*mustSucceed=*/true);
  addMemoryPasses(passes);
  passes.enableTiming(scope);
  if (failed(passes.run(plans->module())))
    return failure();
  return success(succeeded(hooks.keep(Stage::plan, plans->module(), "plan")) &&
                 succeeded(checkMemory()));
}

LogicalResult Pipeline::makeArtifact() {
  TimingScope scope = timing.nest("artifact");
  plan::FunctionShapes shapes;
  for (const EntryPoint &entry : entries)
    shapes[entry.name] = entry.model.shapes;
  auto image = artifact::serialize(plans->module(), options.title, deviceCode,
                                   options.weightsName, shapes);
  if (failed(image))
    return failure();
  return hooks.keepArtifact(
      {plans->module(), shapes, *image, host, userSources}, scope);
}

void frit::registerPipelineDialects(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, plan::PlanDialect, cuda::CudaDialect,
                  cpu::CpuDialect>();
  cpu::registerDialects(registry);
}
