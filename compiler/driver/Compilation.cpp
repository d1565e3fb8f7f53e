//===- Compilation.cpp - One run of fritc ---------------------------------===//

#include "compiler/driver/Compilation.h"

#include "codegen/cpu/CpuKernels.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/Nvrtc.h"
#include "compiler/driver/Artifact.h"
#include "compiler/driver/CudaCode.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ModelOutputs.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/Tune.h"
#include "compiler/pipeline/Pipeline.h"
#include "dialects/plan/Plan.h"

#include "mlir/Support/Timing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;

/// Bytes that every planned library call on a GPU may use.
static constexpr int64_t kWorkspaceBytes = 32 << 20;

namespace {

class Compilation {
public:
  Compilation(const DriverOptions &options, TuneDevice &device)
      : options(options), device(device), registry(makeRegistry()),
        context(registry), diagnostics(context) {
    context.loadAllAvailableDialects();
    diagnostics.warningsAreErrors = options.warningsAreErrors;
    if (options.tuneMissesAreErrors)
      diagnostics.errorCategory = "tune-miss";
    installRemarks(context, options.remarksPassed, options.remarksMissed);
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
    return done && !diagnostics.errors() ? kDone : kBadInput;
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<nn::NNDialect, plan::PlanDialect>();
    cpu::registerDialects(registry);
    return registry;
  }

  bool fail(llvm::Error error) {
    diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
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
        return fail(command.takeError()), kBadInput;
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
      return writeModule(*model);
    if (options.emit == Emit::json)
      return writeGraph();
    {
      TimingScope scope = root.nest("model passes");
      PassManager passes(&context);
      addModelPasses(passes, pipelineOptions());
      passes.enableTiming(scope);
      if (failed(passes.run(*model)))
        return false;
    }
    plans = ModuleOp::create(model->getLoc());
    for (const std::string &arch : options.archs)
      if (!compileTarget(arch))
        return false;
    if (options.emit == Emit::fused)
      return true;
    if (options.memoryReport)
      reportMemory(*plans, llvm::outs());
    if (options.emit == Emit::plan)
      return writeModule(*plans);
    return generateCode();
  }

  //===--------------------------------------------------------------------===//
  // The front
  //===--------------------------------------------------------------------===//

  bool import() {
    TimingScope scope = root.nest("import");
    auto file = llvm::MemoryBuffer::getFileOrSTDIN(
        options.input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return fail(llvm::createFileError(options.input, file.getError()));
    say("read " + options.input);
    // A weights file that is missing, a cycle: whatever is wrong is reported.
    bool json = options.language ? *options.language == Language::json
                                 : StringRef(options.input).ends_with(".json");
    ImportOptions import = options.import;
    import.onMap = [this](StringRef path, StringRef bytes) {
      mapped.push_back({path.str(), bytes});
    };
    model = (json ? importJson : importOnnx)((*file)->getMemBufferRef(),
                                             options.input, import, context);
    return bool(model) && saveTemp(*model, "nn.mlir");
  }

  PipelineOptions pipelineOptions() const {
    PipelineOptions pipeline;
    pipeline.precision = options.precision;
    pipeline.fuse = options.fuse;
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
          return fail(found.takeError());
        diagnostics.warning("compiling for the cpu only: " +
                            llvm::toString(found.takeError()));
        return true;
      }
    say("compile for " + arch);
    TimingScope scope = root.nest("passes for " + arch);
    std::unique_ptr<nn::Target> target;
    PipelineOptions pipeline = pipelineOptions();
    if (isCuda) {
      cuda::CudaOptions cuda;
      cuda.arch = arch;
      cuda.cublas = options.cublas;
      cuda.cudnn = options.cudnn;
      cuda.remarkMissed = !options.remarksMissed.empty();
      if (!options.tuneGenerate.empty() && !tune(cuda, pipeline, scope))
        return false;
      cuda.tuning = &tuning;
      target = std::make_unique<cuda::CudaTarget>(cuda);
      pipeline.workspaceBytes = kWorkspaceBytes;
    } else {
      target = std::make_unique<cpu::CpuTarget>(arch);
      pipeline.fallbacks = false;
    }

    OwningOpRef<ModuleOp> clone = model->clone();
    PassManager passes(&context);
    addTargetPasses(passes, *target, pipeline);
    passes.enableTiming(scope);
    // A warning that counts as an error stops here too.
    if (failed(passes.run(*clone)) || diagnostics.errors() ||
        !saveTemp(*clone, arch + ".fused.mlir"))
      return false;
    if (options.emit == Emit::fused)
      return writeModule(*clone);
    PassManager planning(&context);
    addPlanPasses(planning, *target, pipeline);
    planning.enableTiming(scope);
    if (failed(planning.run(*clone)))
      return false;
    mergePlan(*clone);
    return true;
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
  bool tune(const cuda::CudaOptions &cuda, const PipelineOptions &pipeline,
            TimingScope &scope) {
    TimingScope nested = scope.nest("tuning");
    cuda::CudaTarget target(cuda);
    OwningOpRef<ModuleOp> clone = model->clone();
    PassManager passes(&context);
    addTargetPasses(passes, target, pipeline);
    if (failed(passes.run(*clone)))
      return false;
    TuneOptions tune;
    tune.path = options.tuneGenerate;
    tune.budget = options.tuneBudget;
    tune.verbose = options.verbose;
    if (llvm::Error e = tuneContractions(*clone, cuda, tune, device, tuning))
      return fail(std::move(e));
    return true;
  }

  bool needsNvrtc() const {
    return options.emit == Emit::ptx || options.emit == Emit::cubin ||
           options.emit == Emit::object || options.emit == Emit::shared;
  }

  /// Moves a target's program to the others and its constants to the pool,
  /// where equal ones are one.
  void mergePlan(ModuleOp from) {
    SymbolTable pool(*plans);
    llvm::DenseMap<StringAttr, StringAttr> renamed;
    for (auto constant :
         llvm::make_early_inc_range(from.getOps<plan::ConstantOp>())) {
      StringAttr name = constant.getSymNameAttr();
      auto known = pool.lookup<plan::ConstantOp>(name);
      if (known && known.getValue() == constant.getValue())
        continue;
      constant->remove();
      renamed[name] = pool.insert(constant);
    }
    for (auto program :
         llvm::make_early_inc_range(from.getOps<plan::ProgramOp>())) {
      program.walk([&](plan::BufferOp buffer) {
        if (StringAttr name = buffer.getSymbolAttr())
          if (StringAttr now = renamed.lookup(name))
            buffer.setSymbolAttr(now);
      });
      program->remove();
      pool.insert(program);
    }
  }

  //===--------------------------------------------------------------------===//
  // The back
  //===--------------------------------------------------------------------===//

  bool generateCode() {
    std::unique_ptr<llvm::Module> host;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::string cudaText;
    llvm::StringMap<artifact::TargetCode> code;
    for (auto program : plans->getOps<plan::ProgramOp>()) {
      StringRef arch = program.getArch();
      TimingScope scope = root.nest("code for " + arch.str());
      if (!cuda::isCudaArch(arch)) {
        std::string error;
        machine = cpu::createMachine(arch, error);
        if (!machine)
          return diagnostics.error(error), false;
        host = cpu::compileKernels(program, *machine, llvmContext);
        if (!host)
          return false;
        continue;
      }
      if (!generateCuda(program, cudaText, code[program.getSymName()], scope))
        return false;
    }
    if (options.emit == Emit::cuda)
      return write(cudaText);
    if (options.emit == Emit::ptx || options.emit == Emit::cubin)
      return writeDeviceCode(code);
    return writeArtifact(std::move(host), std::move(machine), code);
  }

  bool generateCuda(plan::ProgramOp program, std::string &allText,
                    artifact::TargetCode &code, TimingScope &timing) {
    TimingScope scope = timing.nest("CUDA text");
    cuda::CudaOptions cuda;
    cuda.arch = program.getArch();
    cuda.cublas = options.cublas;
    cuda.cudnn = options.cudnn;
    FailureOr<std::string> text = emitProgram(program, cuda::CudaTarget(cuda));
    if (failed(text))
      return false;
    if (options.emit == Emit::cuda) {
      allText += *text;
      return true;
    }
    if (options.saveTemps &&
        !write(*text, tempPath(program.getArch().str() + ".cu")))
      return false;
    scope = timing.nest("NVRTC");
    auto compiled = compileProgram(*text, program.getArch());
    if (!compiled)
      return fail(compiled.takeError());
    code = std::move(*compiled);
    return true;
  }

  bool writeDeviceCode(const llvm::StringMap<artifact::TargetCode> &code) {
    if (code.size() != 1)
      return diagnostics.error("--emit=ptx and --emit=cubin take one "
                               "-march=sm_NN"),
             false;
    const artifact::TargetCode &only = code.begin()->second;
    return write(options.emit == Emit::ptx ? only.ptx : only.cubin);
  }

  bool writeArtifact(std::unique_ptr<llvm::Module> host,
                     std::unique_ptr<llvm::TargetMachine> machine,
                     const llvm::StringMap<artifact::TargetCode> &code) {
    TimingScope scope = root.nest("artifact");
    std::string error;
    if (!machine)
      machine = cpu::createMachine("x86-64", error);
    if (!machine)
      return diagnostics.error(error), false;
    if (!host) {
      host = std::make_unique<llvm::Module>("frit", llvmContext);
      host->setDataLayout(machine->createDataLayout());
      host->setTargetTriple(machine->getTargetTriple());
    }
    std::string stem = llvm::sys::path::stem(options.input).str();
    ArtifactOptions output;
    output.output = options.output;
    output.form = options.emit == Emit::shared ? artifact::Form::shared
                                               : artifact::Form::object;
    output.weightsFile = options.weightsFile;
    output.mapped = mapped;
    auto image = artifact::serialize(*plans, stem, code, weightsName(output));
    if (failed(image))
      return false;
    auto sayIt = [this](const llvm::Twine &message) { say(message); };
    output.say = sayIt;
    if (llvm::Error e =
            frit::writeArtifact(*host, *machine, *image, output, scope))
      return fail(std::move(e));
    if (!options.header.empty() &&
        !write(artifact::writeHeader(*plans, imageSymbol(output), stem),
               options.header))
      return false;
    say("wrote " + options.output);
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Files
  //===--------------------------------------------------------------------===//

  bool write(StringRef text, StringRef path) {
    if (llvm::Error e = writeText(path, text))
      return fail(std::move(e));
    return true;
  }
  bool write(StringRef text) { return write(text, options.output); }

  bool writeModule(ModuleOp module) { return write(printed(module)); }
  bool writeGraph() {
    if (llvm::Error e = writeJson(*model, options.output))
      return fail(std::move(e));
    return true;
  }

  std::string tempPath(StringRef ending) const {
    SmallString<128> path(options.output == "-" ? options.input
                                                : options.output);
    llvm::sys::path::replace_extension(path, ending);
    return path.str().str();
  }
  bool saveTemp(ModuleOp module, StringRef ending) {
    return !options.saveTemps || write(printed(module), tempPath(ending));
  }

  const DriverOptions &options;
  TuneDevice &device;
  DialectRegistry registry;
  MLIRContext context;
  llvm::LLVMContext llvmContext;
  DiagnosticPrinter diagnostics;
  DefaultTimingManager timing;
  TimingScope root;
  cuda::Tuning tuning;
  /// The files of weights, which the context keeps mapped.
  std::vector<artifact::MappedFile> mapped;
  OwningOpRef<ModuleOp> model;
  OwningOpRef<ModuleOp> plans;
};

} // namespace

int frit::compile(const DriverOptions &options, TuneDevice &device) {
  return Compilation(options, device).run();
}
