//===- Compilation.cpp - One run of fritc ---------------------------------===//
//
// compiler/pipeline compiles. This file gives it the options and the model's
// file, prints its messages, and writes what --emit and -save-temps ask for.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compilation.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/Artifact.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Linking.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ModelOutputs.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/PipelineSetup.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/StageFiles.h"
#include "compiler/driver/TargetWarnings.h"
#include "compiler/driver/options/OptionFiles.h"
#include "compiler/driver/quantize/Quantization.h"
#include "compiler/driver/quantize/SearchWeights.h"
#include "compiler/driver/tuning/Tune.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/planning/Passes.h"
#include "compiler/report/Page.h"
#include "compiler/report/Report.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Progress.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;

namespace {

class Compilation final : PipelineHooks {
public:
  Compilation(const DriverOptions &options, TuneDevice &device,
              SampleRunner &runner)
      : options(options), device(device), runner(runner), files(options),
        registry(makeRegistry()), context(registry), diagnostics(context),
        pipeline(context, pipelineOptions, *this, root) {
    context.loadAllAvailableDialects();
    // Users know their model, not the IR.
    context.printOpOnDiagnostic(false);
    diagnostics.options = options.warnings;
    installRemarks(context, options.remarksPassed, options.remarksMissed,
                   pipeline.currentTarget(),
                   options.report.empty() ? nullptr : &remarks);
    timing.setEnabled(options.timeReport);
    timing.setOutput(createOutputStrategy(
        DefaultTimingManager::OutputFormat::Text, llvm::errs()));
    root = timing.getRootScope();
  }

  int run() {
    if (options.dryRun)
      return describe();
    bool done = succeeded(compile());
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
    registerPipelineDialects(registry);
    return registry;
  }

  LogicalResult fail(llvm::Error error) {
    if (!status)
      status = statusOf(error);
    diagnostics.error(llvm::toString(std::move(error)));
    return failure();
  }
  /// Fails after reporting an error.
  LogicalResult check(llvm::Error error) {
    return error ? fail(std::move(error)) : success();
  }

  /// Prints the commands of -###.
  int describe() {
    for (const ModelInput &input : options.inputs)
      say("read " + input.path);
    sayGpu();
    for (const std::string &arch : options.archs)
      say("compile for " + arch);
    if (options.emit == Emit::shared) {
      auto command = linkCommand({options.machine, options.system},
                                 {"<object>"}, options.output);
      if (!command)
        return (void)fail(command.takeError()), status;
      say(llvm::join(*command, " "));
    } else {
      say("write " + options.output);
    }
    return kDone;
  }

  LogicalResult compile() {
    setPipelineOptions();
    auto sources =
        readSources(options, [this](StringRef path, StringRef bytes) {
          mapped.push_back({path.str(), bytes});
        });
    if (!sources)
      return fail(sources.takeError());
    sayGpu();
    if (options.emit == Emit::shared || options.emit == Emit::object)
      warnOfHosts(options, diagnostics);
    if (failed(readOptionFiles(*sources)) || failed(pipeline.run(*sources)))
      return failure();
    if (!options.report.empty() &&
        failed(check(writeText(options.report, page))))
      return failure();
    return isTextOutput() ? check(files.write(emitted)) : success();
  }

  /// Returns whether --emit asks for a stage that `emitted` collects.
  bool isTextOutput() const {
    return options.emit == Emit::nn || options.emit == Emit::fused ||
           options.emit == Emit::plan || options.emit == Emit::dot ||
           options.emit == Emit::cuda;
  }

  //===--------------------------------------------------------------------===//
  // Options in
  //===--------------------------------------------------------------------===//

  void setPipelineOptions() {
    pipelineOptions = pipelineOptionsOf(options);
    pipelineOptions.cuda.tuning = &tuning;
    if (!options.tuneGenerate.empty())
      pipelineOptions.tune = [this](ModuleOp fused,
                                    const cuda::CudaOptions &target,
                                    double share) {
        TuneOptions tune;
        tune.path = options.tuneGenerate;
        tune.budget = options.tuneBudget * share;
        tune.verbose = options.verbose;
        return check(tuneContractions(fused, target, tune, device, tuning));
      };
    if (!options.quantization.format.empty())
      pipelineOptions.quantize =
          [this](MutableArrayRef<OwningOpRef<ModuleOp>> variants) {
            return quantize(variants);
          };
    if (!options.weights.empty() && !options.quantization.data.empty())
      pipelineOptions.searchWeights = [this](ModuleOp model,
                                             RoundedWeights &rounded) {
        return checkReported(searchWeights(
            model, options.weights, options.quantization, runner, rounded,
            [this](const Twine &message) { tell(message); }));
      };
    pipelineOptions.weightsName = weightsName(artifactOptions());
  }

  LogicalResult quantize(MutableArrayRef<OwningOpRef<ModuleOp>> variants) {
    if (options.quantization.hasFloats())
      warnOfFloats(options, pipelineOptions.precision, diagnostics);
    return checkReported(
        quantizeModel(variants, options.quantization, runner,
                      [this](const Twine &message) { tell(message); }));
  }

  /// Reports an error, unless it comes with diagnostics.
  LogicalResult checkReported(llvm::Error error) {
    if (error && diagnostics.errors()) {
      llvm::consumeError(std::move(error));
      return failure();
    }
    return check(std::move(error));
  }

  /// Reads the files that options name.
  LogicalResult readOptionFiles(MutableArrayRef<ModelSource> sources) {
    warnOfTuning(options, diagnostics);
    if (llvm::Error error = readTuning(options, context, tuning))
      return fail(std::move(error));
    if (!options.trainingFile.empty()) {
      auto training = readTraining(options);
      if (!training)
        return fail(training.takeError());
      pipelineOptions.training = std::move(*training);
    }
    auto customOps = readCustomOps(options.customOpFiles);
    if (!customOps)
      return fail(customOps.takeError());
    for (ModelSource &source : sources)
      source.import.customOps = *customOps;
    return success();
  }

  ArtifactOptions artifactOptions() const {
    ArtifactOptions output;
    output.output = options.output;
    output.name = options.name;
    output.form = options.emit == Emit::shared ? artifact::Form::shared
                                               : artifact::Form::object;
    output.machine = options.machine;
    output.system = options.system;
    output.weightsFile = options.weightsFile;
    output.mapped = mapped;
    return output;
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  void begin(const Twine &work) override { progress.emplace(work.str()); }
  void end() override { progress.reset(); }
  void update(size_t done, size_t total, StringRef next) override {
    progress->update(done, total, next.str());
  }

  void blame(cuda::Culprit culprit) override {
    if (!status)
      status = culprit == cuda::Culprit::frit    ? kBug
               : culprit == cuda::Culprit::nvrtc ? kMachine
                                                 : kBadInput;
  }

  void say(const Twine &message) override {
    if (options.verbose)
      llvm::errs() << "fritc: " << message << "\n";
  }

  void tell(const Twine &message) override {
    llvm::errs() << "fritc: " << message << "\n";
  }

  /// Reports the GPU for whose sizes schedules are chosen, if it is this
  /// machine's.
  void sayGpu() {
    if (options.gpu && llvm::is_contained(options.archs, options.gpu->name))
      say(llvm::formatv("schedule {0} for {1}: {2} SMs, {3} MiB of L2, {4:F0} "
                        "GB/s",
                        options.gpu->name, options.gpu->device,
                        options.gpu->sms, options.gpu->l2Bytes >> 20,
                        options.gpu->memoryRate / 1e3)
              .str());
  }

  /// Reports how many steps of each main list run concurrently.
  void sayForked(ModuleOp plans) {
    plans.walk([&](plan::CommandListOp list) {
      if (size_t forked = planning::countForked(list))
        say(Twine(forked) + " of " + Twine(plan::stepsOf(list).size()) +
            " steps run beside others");
    });
  }

  /// Leaves out a default target whose tools are missing.
  FailureOr<bool> takesTarget(StringRef arch) override {
    bool needsNvrtc = pipelineOptions.last >= Stage::device;
    if (!needsNvrtc || !cuda::isCudaArch(arch))
      return true;
    auto found = cuda::describeNvrtc();
    if (found)
      return true;
    if (!options.defaultArchs)
      return fail(ofMachine(found.takeError()));
    diagnostics.warning("compiling for the cpu only: " +
                        llvm::toString(found.takeError()) + " [-Wtarget]");
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Files out
  //===--------------------------------------------------------------------===//

  /// Checks the names of all outputs, and reads the one that is extended. Once
  /// the model is imported all inputs are known, and nothing has been written
  /// yet.
  LogicalResult checkOutputs() {
    if (failed(check(files.check())) ||
        failed(check(refusalError(frit::checkOutputs(outputsOf(options))))))
      return failure();
    if (std::exchange(hasTuning, true))
      return success();
    return check(readTuningToExtend(options, context, tuning));
  }

  LogicalResult keep(Stage stage, ModuleOp module, const Twine &name) override {
    // A warning that counts as an error stops here too.
    if (diagnostics.errors() ||
        (stage == Stage::imported && failed(checkOutputs())) ||
        failed(check(files.save(module, name + ".mlir"))))
      return failure();
    if (stage == Stage::plan && options.verbose)
      sayForked(module);
    if (stage == Stage::plan && options.memoryReport)
      reportMemory(module, options.output == "-" ? llvm::errs() : llvm::outs());
    if (stage == Stage::plan && !options.report.empty())
      page = makePage(report::writeJson(makeReport(module)));
    if (stage != pipelineOptions.last)
      return success();
    if (options.emit == Emit::dot)
      emitted = report::writeDot(makeReport(module));
    else if (options.emit == Emit::json)
      return check(writeJson(module, options.output));
    else if (isTextOutput())
      emitted += (emitted.empty() ? "" : "\n// -----\n\n") + printed(module);
    return success();
  }

  /// Builds the report of a plan.
  report::Report makeReport(ModuleOp plans) {
    llvm::StringMap<std::unique_ptr<cuda::CudaTarget>> targets;
    auto timeOf = [&](StringRef arch,
                      nn::FusionOp fusion) -> std::optional<double> {
      if (!cuda::isCudaArch(arch))
        return std::nullopt;
      std::unique_ptr<cuda::CudaTarget> &target = targets[arch];
      if (!target) {
        cuda::CudaOptions own = pipelineOptions.cuda;
        own.arch = arch;
        target = std::make_unique<cuda::CudaTarget>(own);
      }
      std::optional<nn::StepCost> cost = target->cost(fusion);
      return cost ? std::optional(cost->microseconds) : std::nullopt;
    };
    report::Report described = report::describe(plans, timeOf);
    described.title = options.title;
    described.version = FRIT_VERSION;
    described.remarks = remarks;
    return described;
  }

  LogicalResult keepCuda(StringRef text, StringRef name) override {
    if (options.emit == Emit::cuda)
      emitted += text;
    return check(files.save(text, name + ".cu"));
  }

  /// Keeps net.sm_90a.cubin and net.sm_90a.ptx, with a number where there are
  /// several.
  LogicalResult keepDeviceCode(const artifact::TargetCode &code,
                               StringRef name) override {
    for (auto [i, module] : llvm::enumerate(code.modules)) {
      std::string stem = name.str();
      if (code.modules.size() > 1)
        stem += "." + std::to_string(i);
      if (failed(check(files.save(module.ptx, stem + ".ptx"))) ||
          failed(check(files.save(module.cubin, stem + ".cubin"))))
        return failure();
    }
    if (pipelineOptions.last != Stage::device)
      return success();
    if (code.modules.empty())
      return diagnostics.error("the model has no kernels of its own"),
             failure();
    return check(files.write(options.emit == Emit::ptx
                                 ? code.modules.front().ptx
                                 : code.modules.front().cubin));
  }

  /// Keeps net.x86-64.ll and net.x86-64.s, with a number where there are
  /// several.
  LogicalResult keepHostCode(ArrayRef<cpu::KernelModule> kernels,
                             llvm::TargetMachine &machine,
                             StringRef name) override {
    for (auto [i, part] : llvm::enumerate(kernels)) {
      std::string stem = name.str();
      if (kernels.size() > 1)
        stem += "." + std::to_string(i);
      if (failed(check(files.save(*part.module, machine, stem))))
        return failure();
    }
    return success();
  }

  LogicalResult keepArtifact(const CompiledModel &model,
                             TimingScope &timing) override {
    ArtifactOptions output = artifactOptions();
    auto keepObject = [this](StringRef object, size_t index) {
      return files.save(object, index ? std::to_string(index) + ".o" : "o");
    };
    output.keepObject = keepObject;
    output.sources = model.sources;
    auto sayIt = [this](const Twine &message) { say(message); };
    output.say = sayIt;
    auto show = [this](size_t done, size_t total) {
      update(done, total, "machine code");
    };
    output.progress = show;
    {
      PipelineHooks::Work work(*this, "write " + options.output);
      if (failed(check(writeArtifact(model.host, model.image, output, timing))))
        return failure();
    }
    if (!options.header.empty() &&
        failed(check(writeText(
            options.header,
            artifact::writeHeader(model.plans, model.image, imageSymbol(output),
                                  options.title, model.shapes)))))
      return failure();
    say("wrote " + options.output);
    return success();
  }

  const DriverOptions &options;
  TuneDevice &device;
  SampleRunner &runner;
  StageFiles files;
  std::vector<report::Remark> remarks; ///< for the page
  std::string page;
  /// The exit status of the first error.
  ExitStatus status = kDone;
  DialectRegistry registry;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  DefaultTimingManager timing;
  TimingScope root;
  std::optional<Progress> progress;
  cuda::Tuning tuning;
  bool hasTuning = false; ///< the file of -ftune-generate has been read
  /// The files of weights, which the context keeps mapped.
  std::vector<artifact::MappedFile> mapped;
  /// The text that --emit writes, for all functions and targets.
  std::string emitted;
  PipelineOptions pipelineOptions;
  Pipeline pipeline;
};

} // namespace

int frit::compile(const DriverOptions &options, TuneDevice &device,
                  SampleRunner &runner) {
  return Compilation(options, device, runner).run();
}
