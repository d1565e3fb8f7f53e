//===- Compilation.cpp - One run of fritc ---------------------------------===//
//
// compiler/pipeline compiles. This file gives it the options and the model's
// file. Messages prints what it says, StageOutputs writes what it makes.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compilation.h"

#include "compiler/driver/Linking.h"
#include "compiler/driver/PipelineSetup.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/StageOutputs.h"
#include "compiler/driver/TargetWarnings.h"
#include "compiler/driver/options/OptionFiles.h"
#include "compiler/driver/quantize/Quantization.h"
#include "compiler/driver/quantize/SearchWeights.h"
#include "compiler/driver/tuning/Tune.h"

using namespace mlir;
using namespace frit;

namespace {

class Compilation {
public:
  Compilation(const DriverOptions &options, TuneDevice &device,
              SampleRunner &runner)
      : options(options), device(device), runner(runner),
        registry(makeRegistry()), context(registry),
        outputs(options, pipelineOptions, context),
        pipeline(context, pipelineOptions, outputs, root) {
    context.loadAllAvailableDialects();
    installRemarks(context, options.remarksPassed, options.remarksMissed,
                   pipeline.currentTarget(),
                   options.report.empty() ? nullptr : &outputs.remarks);
    timing.setEnabled(options.timeReport);
    timing.setOutput(createOutputStrategy(
        DefaultTimingManager::OutputFormat::Text, llvm::errs()));
    root = timing.getRootScope();
  }

  int run() {
    if (options.dryRun)
      return describe();
    bool isDone = succeeded(compile());
    root.stop();
    return outputs.statusOfRun(isDone);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerPipelineDialects(registry);
    return registry;
  }

  /// Prints the commands of -###.
  int describe() {
    for (const ModelInput &input : options.inputs)
      outputs.say("read " + input.path);
    outputs.sayGpu();
    for (const std::string &arch : options.archs)
      outputs.say("compile for " + arch);
    if (options.emit != Emit::shared) {
      outputs.say("write " + options.output);
      return kDone;
    }
    auto command = linkCommand({options.machine, options.system}, {"<object>"},
                               options.output);
    if (!command)
      return outputs.statusOfRun(succeeded(outputs.fail(command.takeError())));
    outputs.say(llvm::join(*command, " "));
    return kDone;
  }

  LogicalResult compile() {
    setPipelineOptions();
    auto sources =
        readSources(options, [this](StringRef path, StringRef bytes) {
          outputs.mapped.push_back({path.str(), bytes});
        });
    if (!sources)
      return outputs.fail(sources.takeError());
    outputs.sayGpu();
    if (options.emit == Emit::shared || options.emit == Emit::object)
      warnOfHosts(options, outputs.diagnostics);
    bool isRandom = false;
    for (ModelSource &source : *sources)
      source.import.onRandom = [&](StringRef) { isRandom = true; };
    if (failed(readOptionFiles(*sources)) || failed(pipeline.run(*sources)))
      return failure();
    if (!isRandom && options.inputs.front().import.randomWeights)
      outputs.diagnostics.warning(
          "-frandom-weights has no effect on a model that lacks no weights "
          "[-Wunused]");
    return outputs.finish();
  }

  //===--------------------------------------------------------------------===//
  // Options in
  //===--------------------------------------------------------------------===//

  void setPipelineOptions() {
    pipelineOptions = pipelineOptionsOf(options);
    pipelineOptions.cuda.tuning = &outputs.tuning;
    if (!options.tuneGenerate.empty())
      pipelineOptions.tune = [this](ModuleOp fused,
                                    const cuda::CudaOptions &target,
                                    double share) {
        TuneOptions tune;
        tune.path = options.tuneGenerate;
        tune.budget = options.tuneBudget * share;
        tune.verbose = options.verbose;
        return outputs.check(
            tuneContractions(fused, target, tune, device, outputs.tuning));
      };
    if (!options.quantization.format.empty())
      pipelineOptions.quantize =
          [this](MutableArrayRef<OwningOpRef<ModuleOp>> variants,
                 StringRef precision) { return quantize(variants, precision); };
    if (!options.weights.empty() && !options.quantization.data.empty())
      pipelineOptions.searchWeights = [this](ModuleOp model,
                                             RoundedWeights &rounded) {
        return outputs.checkReported(searchWeights(
            model, options.weights, options.quantization, runner, rounded,
            [this](const Twine &message) { outputs.tell(message); }));
      };
    pipelineOptions.weightsName = weightsName(outputs.artifactOptions());
  }

  LogicalResult quantize(MutableArrayRef<OwningOpRef<ModuleOp>> variants,
                         StringRef precision) {
    if (options.quantization.hasFloats())
      warnOfFloats(options, precision, outputs.diagnostics);
    return outputs.checkReported(
        quantizeModel(variants, options.quantization, runner,
                      [this](const Twine &message) { outputs.tell(message); }));
  }

  /// Reads the files that options name.
  LogicalResult readOptionFiles(MutableArrayRef<ModelSource> sources) {
    warnOfUnused(options, outputs.diagnostics);
    if (options.precision == "amp-fp8")
      warnOfFloats(options, options.precision, outputs.diagnostics);
    if (llvm::Error error = readTuning(options, context, outputs.tuning))
      return outputs.fail(std::move(error));
    if (!options.trainingFile.empty()) {
      auto training = readTraining(options);
      if (!training)
        return outputs.fail(training.takeError());
      pipelineOptions.training = std::move(*training);
    }
    auto customOps = readCustomOps(options.customOpFiles);
    if (!customOps)
      return outputs.fail(customOps.takeError());
    for (ModelSource &source : sources)
      source.import.customOps = *customOps;
    return success();
  }

  const DriverOptions &options;
  TuneDevice &device;
  SampleRunner &runner;
  DialectRegistry registry;
  MLIRContext context;
  PipelineOptions pipelineOptions;
  StageOutputs outputs;
  DefaultTimingManager timing;
  TimingScope root;
  Pipeline pipeline;
};

} // namespace

int frit::compile(const DriverOptions &options, TuneDevice &device,
                  SampleRunner &runner) {
  return Compilation(options, device, runner).run();
}
