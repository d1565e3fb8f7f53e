//===- Compilation.cpp - One run of fritc ---------------------------------===//

#include "compiler/driver/Compilation.h"

#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/CpuKernels.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/compile/CompileModules.h"
#include "codegen/cuda/compile/EmitKernels.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/target/CudaDialect.h"
#include "codegen/cuda/target/CudaTarget.h"
#include "compiler/driver/Artifact.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ModelInput.h"
#include "compiler/driver/ModelOutputs.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/Progress.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/StageFiles.h"
#include "compiler/driver/Tune.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/planning/MergeVariants.h"
#include "dialects/plan/Plan.h"

#include "mlir/Support/Timing.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace frit;

/// Bytes that every planned library call on a GPU may use.
static constexpr int64_t kWorkspaceBytes = 32 << 20;

namespace {

class Compilation {
public:
  Compilation(const DriverOptions &options, TuneDevice &device)
      : options(options), device(device), files(options),
        registry(makeRegistry()), context(registry), diagnostics(context) {
    context.loadAllAvailableDialects();
    diagnostics.options = options.warnings;
    installRemarks(context, options.remarksPassed, options.remarksMissed,
                   remarkTarget);
    timing.setEnabled(options.timeReport);
    timing.setOutput(createOutputStrategy(
        DefaultTimingManager::OutputFormat::Text, llvm::errs()));
    root = timing.getRootScope();
  }

  int run() {
    if (options.dryRun)
      return describe();
    bool done = compile();
    root.stop();
    if (!done && !diagnostics.errors()) {
      diagnostics.error("the compilation failed without saying why: this is a "
                        "bug in frit; please report it with the model");
      return kBug;
    }
    if (done && !diagnostics.errors())
      return kDone;
    return status ? status : kBadInput;
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<nn::NNDialect, plan::PlanDialect, cuda::CudaDialect,
                    cpu::CpuDialect>();
    cpu::registerDialects(registry);
    return registry;
  }

  bool fail(llvm::Error error) {
    if (!status)
      status = statusOf(error);
    diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
  /// False after an error, which is reported.
  bool good(llvm::Error error) { return !error || fail(std::move(error)); }
  void say(const llvm::Twine &message) {
    if (options.verbose)
      llvm::errs() << "fritc: " << message << "\n";
  }

  /// What -### prints.
  int describe() {
    say("read " + options.input);
    for (const std::string &arch : options.archs)
      say("compile for " + arch);
    if (options.emit == Emit::shared) {
      auto command = linkCommand("<object>", options.output);
      if (!command)
        return fail(command.takeError()), status;
      say(llvm::join(*command, " "));
    } else {
      say("write " + options.output);
    }
    return kDone;
  }

  bool compile() {
    if (!import() || !readTuning())
      return false;
    if (options.emit == Emit::nn)
      return good(files.write(*input.model.modules.front()));
    if (options.emit == Emit::json)
      return good(writeJson(*input.model.modules.front(), options.output));
    {
      TimingScope scope = root.nest("model passes");
      PassManager passes(&context);
      addModelPasses(passes, pipelineOptions());
      passes.enableTiming(scope);
      for (auto [index, variant] : llvm::enumerate(input.model.modules))
        if (failed(passes.run(*variant)) ||
            !good(
                files.save(*variant, variantEnding(index, "simplified.mlir"))))
          return false;
    }
    plans = ModuleOp::create(input.model.modules.front()->getLoc());
    planSymbols.emplace(*plans);
    constants.emplace(*planSymbols);
    for (const std::string &arch : options.archs)
      if (!compileTarget(arch))
        return false;
    if (options.emit == Emit::fused)
      return true;
    if (!planMemory() || !good(files.save(*plans, "plan.mlir")))
      return false;
    if (options.memoryReport)
      reportMemory(*plans, options.output == "-" ? llvm::errs() : llvm::outs());
    if (options.emit == Emit::plan)
      return good(files.write(*plans));
    return generateCode();
  }

  //===--------------------------------------------------------------------===//
  // The front
  //===--------------------------------------------------------------------===//

  bool import() {
    TimingScope scope = root.nest("import");
    Progress progress("read " + options.input);
    if (llvm::Error error = input.read(options, context))
      return fail(std::move(error));
    if (input.model.modules.empty())
      return false;
    say("read " + options.input);
    for (auto [variant, module] : llvm::enumerate(input.model.modules))
      if (!good(files.save(*module, variantEnding(variant, "nn.mlir"))))
        return false;
    return true;
  }

  /// What a file of one of several variants ends with.
  std::string variantEnding(size_t variant, const std::string &ending) const {
    return !input.model.isOpen()
               ? ending
               : input.model.listNames[variant] + "." + ending;
  }

  PipelineOptions pipelineOptions() const {
    PipelineOptions pipeline;
    pipeline.precision = options.precision;
    pipeline.types = options.types;
    pipeline.fuse = options.fuse;
    pipeline.guard = options.guard;
    pipeline.fork = options.fork;
    return pipeline;
  }

  //===--------------------------------------------------------------------===//
  // One target
  //===--------------------------------------------------------------------===//

  bool compileTarget(const std::string &arch) {
    bool isCuda = cuda::isCudaArch(arch);
    if (isCuda && needsNvrtc())
      if (auto found = cuda::describeNvrtc(); !found) {
        if (!options.defaultArchs)
          return fail(ofMachine(found.takeError()));
        diagnostics.warning("compiling for the cpu only: " +
                            llvm::toString(found.takeError()) + " [-Wtarget]");
        return true;
      }
    say("compile for " + arch);
    TimingScope scope = root.nest("passes for " + arch);
    llvm::SaveAndRestore named(remarkTarget, arch);
    std::unique_ptr<nn::Target> target;
    PipelineOptions pipeline = pipelineOptions();
    if (isCuda) {
      cuda::CudaOptions cuda;
      cuda.arch = arch;
      cuda.cublas = options.cublas;
      cuda.cudnn = options.cudnn;
      cuda.remarkMissed = !options.remarksMissed.empty();
      if (!options.tuneGenerate.empty())
        for (OwningOpRef<ModuleOp> &variant : input.model.modules)
          if (!tune(*variant, cuda, pipeline, scope))
            return false;
      cuda.tuning = &tuning;
      target = std::make_unique<cuda::CudaTarget>(cuda);
      pipeline.workspaceBytes = kWorkspaceBytes;
    } else {
      target = std::make_unique<cpu::CpuTarget>(arch);
      pipeline.fallbacks = false;
    }

    Progress progress("optimise for " + arch);
    PassManager passes(&context), planning(&context);
    addTargetPasses(passes, *target, pipeline);
    passes.enableTiming(scope);
    addPlanPasses(planning, *target, pipeline);
    planning.enableTiming(scope);
    for (size_t variant = 0; variant < input.model.modules.size(); ++variant) {
      OwningOpRef<ModuleOp> clone = input.model.modules[variant]->clone();
      // A warning that counts as an error stops here too.
      if (failed(passes.run(*clone)) || diagnostics.errors() ||
          !good(
              files.save(*clone, variantEnding(variant, arch + ".fused.mlir"))))
        return false;
      if (options.emit == Emit::fused)
        return good(files.write(*clone));
      if (failed(planning.run(*clone)))
        return false;
      if (options.verbose)
        sayForked(*clone);
      mergePlan(*clone, variant);
    }
    return isCuda ? emitKernels(arch, scope) : lowerHostKernels(arch, scope);
  }

  bool emitKernels(StringRef arch, TimingScope &timing) {
    cuda::CudaOptions cuda;
    cuda.cublas = options.cublas;
    cuda.cudnn = options.cudnn;
    PassManager passes(&context, plan::ProgramOp::getOperationName());
    passes.addPass(cuda::createEmitKernelsPass(cuda));
    passes.enableTiming(timing);
    for (auto program : plans->getOps<plan::ProgramOp>())
      if (program.getArch() == arch && failed(passes.run(program)))
        return false;
    return true;
  }

  /// Brings the kernels of a host's plan to where it shows what workspaces they
  /// need.
  bool lowerHostKernels(StringRef arch, TimingScope &timing) {
    TimingScope scope = timing.nest("loops");
    for (auto program : plans->getOps<plan::ProgramOp>()) {
      if (program.getArch() != arch)
        continue;
      FailureOr<cpu::LoweredKernels> lowered = cpu::lowerKernels(program);
      if (failed(lowered))
        return false;
      hostKernels[arch] = std::move(*lowered);
    }
    return true;
  }

  bool planMemory() {
    TimingScope scope = root.nest("memory");
    PassManager passes(&context);
    addMemoryPasses(passes);
    passes.enableTiming(scope);
    return succeeded(passes.run(*plans));
  }

  /// How many steps of a variant run beside others.
  void sayForked(ModuleOp plan) {
    plan.walk([&](plan::CommandListOp list) {
      if (size_t forked = planning::countForked(list))
        say(llvm::Twine(forked) + " of " +
            llvm::Twine(plan::stepsOf(list).size()) +
            " steps run beside others");
    });
  }

  //===--------------------------------------------------------------------===//
  // Tuning
  //===--------------------------------------------------------------------===//

  bool readTuning() {
    // What frit comes with is no reason not to time.
    if (options.tuned && options.tuneGenerate.empty())
      if (llvm::Error e = tuning.readShipped(&context))
        return fail(std::move(e));
    tuning.warnsOfMisses = !options.tuneUse.empty();
    // What is added to may begin without a file.
    for (const std::string &path : {options.tuneUse, options.tuneGenerate})
      if (!path.empty() &&
          (path == options.tuneUse || llvm::sys::fs::exists(path)))
        if (llvm::Error e = tuning.read(path, &context))
          return fail(std::move(e));
    return true;
  }

  /// Times the contractions of the model as it is fused for the target.
  bool tune(ModuleOp variant, const cuda::CudaOptions &cuda,
            const PipelineOptions &pipeline, TimingScope &scope) {
    TimingScope nested = scope.nest("tuning");
    cuda::CudaTarget target(cuda);
    OwningOpRef<ModuleOp> clone = variant.clone();
    PassManager passes(&context);
    addTargetPasses(passes, target, pipeline);
    if (failed(passes.run(*clone)))
      return false;
    TuneOptions tune;
    tune.path = options.tuneGenerate;
    tune.budget = options.tuneBudget / double(input.model.modules.size());
    tune.verbose = options.verbose;
    if (llvm::Error e = tuneContractions(*clone, cuda, tune, device, tuning))
      return fail(std::move(e));
    return true;
  }

  bool needsNvrtc() const {
    return options.emit == Emit::ptx || options.emit == Emit::cubin ||
           options.emit == Emit::object || options.emit == Emit::shared;
  }

  /// Moves a plan's constants to the pool and its program to the others, or
  /// into that of the variants before.
  void mergePlan(ModuleOp from, size_t variant) {
    constants->take(from);
    for (auto program :
         llvm::make_early_inc_range(from.getOps<plan::ProgramOp>())) {
      program.getMains().front().setSymName(input.model.listNames[variant]);
      if (variant) {
        auto into = planSymbols->lookup<plan::ProgramOp>(program.getSymName());
        planning::mergeVariant(into, program, input.model.listNames[variant]);
        continue;
      }
      program->remove();
      planSymbols->insert(program);
    }
  }

  //===--------------------------------------------------------------------===//
  // The back
  //===--------------------------------------------------------------------===//

  bool generateCode() {
    std::unique_ptr<llvm::Module> host;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::string cudaText;
    SmallVector<plan::ProgramOp> cudaPrograms;
    llvm::StringMap<artifact::TargetCode> code;
    for (auto program : plans->getOps<plan::ProgramOp>()) {
      StringRef arch = program.getArch();
      TimingScope scope = root.nest("code for " + arch.str());
      llvm::SaveAndRestore named(remarkTarget, arch.str());
      if (!cuda::isCudaArch(arch)) {
        Progress progress("compile kernels for " + arch.str());
        auto created = cpu::createMachine(arch);
        if (!created)
          return diagnostics.error(llvm::toString(created.takeError())), false;
        machine = std::move(*created);
        auto kernels = cpu::compileKernels(std::move(hostKernels[arch]),
                                           *machine, llvmContext);
        if (!kernels || !good(files.save(*kernels, *machine, arch)))
          return false;
        // The kernels of each processor have names and instructions of their
        // own.
        if (!host)
          host = std::move(kernels);
        else if (llvm::Linker::linkModules(*host, std::move(kernels)))
          return false;
        continue;
      }
      cudaPrograms.push_back(program);
      std::string text = cuda::joinKernels(program).text;
      if (options.emit != Emit::cuda && !good(files.save(text, arch + ".cu")))
        return false;
      cudaText += text;
    }
    if (!cudaPrograms.empty() && options.emit != Emit::cuda) {
      TimingScope scope = root.nest("NVRTC");
      if (!compileCuda(cudaPrograms, code))
        return false;
    }
    if (options.emit == Emit::cuda)
      return good(files.write(cudaText));
    if (options.emit == Emit::ptx || options.emit == Emit::cubin)
      return writeDeviceCode(code);
    return writeArtifact(std::move(host), std::move(machine), code);
  }

  bool compileCuda(ArrayRef<plan::ProgramOp> programs,
                   llvm::StringMap<artifact::TargetCode> &code) {
    {
      Progress progress("compile kernels");
      auto update = [&](size_t done, size_t total, StringRef next) {
        progress.update(done, total, next.str());
      };
      bool single = options.emit == Emit::ptx || options.emit == Emit::cubin;
      if (failed(cuda::compilePrograms(programs,
                                       single ? cuda::CompileAs::oneModule
                                              : cuda::CompileAs::modules,
                                       code, update)))
        return false;
    }
    for (plan::ProgramOp program : programs)
      if (!saveDeviceCode(program.getArch(), code[program.getSymName()]))
        return false;
    return true;
  }

  /// Keeps net.sm_90a.cubin and net.sm_90a.ptx, with a number where there are
  /// several.
  bool saveDeviceCode(StringRef arch, const artifact::TargetCode &code) {
    for (auto [i, module] : llvm::enumerate(code.modules)) {
      std::string stem = arch.str();
      if (code.modules.size() > 1)
        stem += "." + std::to_string(i);
      if (!good(files.save(module.ptx, stem + ".ptx")) ||
          !good(files.save(module.cubin, stem + ".cubin")))
        return false;
    }
    return true;
  }

  bool writeDeviceCode(const llvm::StringMap<artifact::TargetCode> &code) {
    const artifact::TargetCode &only = code.begin()->second;
    if (only.modules.empty())
      return diagnostics.error("the model has no kernels of its own"), false;
    return good(files.write(options.emit == Emit::ptx ? only.modules[0].ptx
                                                      : only.modules[0].cubin));
  }

  bool writeArtifact(std::unique_ptr<llvm::Module> host,
                     std::unique_ptr<llvm::TargetMachine> machine,
                     const llvm::StringMap<artifact::TargetCode> &code) {
    TimingScope scope = root.nest("artifact");
    if (!machine) {
      auto created = cpu::createMachine("x86-64");
      if (!created)
        return diagnostics.error(llvm::toString(created.takeError())), false;
      machine = std::move(*created);
    }
    if (!host) {
      host = std::make_unique<llvm::Module>("frit", llvmContext);
      host->setDataLayout(machine->createDataLayout());
      host->setTargetTriple(machine->getTargetTriple());
    }
    ArtifactOptions output;
    output.output = options.output;
    output.name = options.name;
    output.form = options.emit == Emit::shared ? artifact::Form::shared
                                               : artifact::Form::object;
    output.weightsFile = options.weightsFile;
    output.mapped = input.mapped;
    auto keep = [this](StringRef object) { return files.save(object, "o"); };
    output.keepObject = keep;
    auto image = artifact::serialize(*plans, options.title, code,
                                     weightsName(output), input.model.shapes);
    if (failed(image))
      return false;
    auto sayIt = [this](const llvm::Twine &message) { say(message); };
    output.say = sayIt;
    if (llvm::Error e =
            frit::writeArtifact(*host, *machine, *image, output, scope))
      return fail(std::move(e));
    if (!options.header.empty() &&
        !good(writeText(options.header,
                        artifact::writeHeader(*plans, imageSymbol(output),
                                              options.title,
                                              input.model.shapes))))
      return false;
    say("wrote " + options.output);
    return true;
  }

  const DriverOptions &options;
  TuneDevice &device;
  StageFiles files;
  /// What remarks are about; empty before there is a target.
  std::string remarkTarget;
  /// What the first error says that the program ends with.
  ExitStatus status = kDone;
  DialectRegistry registry;
  MLIRContext context;
  llvm::LLVMContext llvmContext;
  DiagnosticPrinter diagnostics;
  DefaultTimingManager timing;
  TimingScope root;
  cuda::Tuning tuning;
  ModelInput input;
  OwningOpRef<ModuleOp> plans;
  std::optional<SymbolTable> planSymbols;
  std::optional<planning::ConstantPool> constants;
  llvm::StringMap<cpu::LoweredKernels> hostKernels; ///< by target
};

} // namespace

int frit::compile(const DriverOptions &options, TuneDevice &device) {
  return Compilation(options, device).run();
}
