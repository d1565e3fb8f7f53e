//===- StageOutputs.cpp - Write what becomes of a model -------------------===//

#include "compiler/driver/StageOutputs.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ModelOutputs.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/options/OptionFiles.h"
#include "compiler/report/Page.h"
#include "compiler/support/OutputFile.h"

using namespace mlir;
using namespace frit;

StageOutputs::StageOutputs(const DriverOptions &options,
                           const PipelineOptions &pipelineOptions,
                           MLIRContext &context)
    : Messages(options, context), pipelineOptions(pipelineOptions),
      context(context), files(options) {}

ArtifactOptions StageOutputs::artifactOptions() const {
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

/// Returns whether --emit asks for a stage that `emitted` collects.
bool StageOutputs::isTextOutput() const {
  return options.emit == Emit::nn || options.emit == Emit::fused ||
         options.emit == Emit::plan || options.emit == Emit::dot ||
         options.emit == Emit::cuda;
}

LogicalResult StageOutputs::finish() {
  if (!options.report.empty() && failed(check(writeText(options.report, page))))
    return failure();
  return isTextOutput() ? check(files.write(emitted)) : success();
}

/// Leaves out a default target whose tools are missing.
FailureOr<bool> StageOutputs::wantsTarget(StringRef arch) {
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

/// Checks the names of all outputs, and reads the one that is extended. Once
/// the model is imported all inputs are known, and nothing has been written
/// yet.
LogicalResult StageOutputs::checkOutputs() {
  if (failed(check(files.check())) ||
      failed(check(refusalError(frit::checkOutputs(outputsOf(options))))))
    return failure();
  if (std::exchange(hasTuning, true))
    return success();
  return check(readTuningToExtend(options, context, tuning));
}

LogicalResult StageOutputs::keep(Stage stage, ModuleOp module,
                                 const Twine &name) {
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
report::Report StageOutputs::makeReport(ModuleOp plans) {
  llvm::StringMap<std::unique_ptr<nn::Target>> targets;
  auto timeOf = [&](StringRef arch,
                    nn::FusionOp fusion) -> std::optional<double> {
    std::unique_ptr<nn::Target> &target = targets[arch];
    if (!target)
      target = createTarget(pipelineOptions, arch);
    std::optional<nn::StepCost> cost = target->cost(fusion);
    return cost ? std::optional(cost->microseconds) : std::nullopt;
  };
  report::Report described = report::describe(plans, timeOf);
  described.title = options.title;
  described.version = FRIT_VERSION;
  described.remarks = remarks;
  return described;
}

LogicalResult StageOutputs::keepCuda(StringRef text, StringRef name) {
  if (options.emit == Emit::cuda)
    emitted += text;
  return check(files.save(text, name + ".cu"));
}

/// Keeps net.sm_90a.cubin and net.sm_90a.ptx, with a number where there are
/// several.
LogicalResult StageOutputs::keepDeviceCode(const artifact::TargetCode &code,
                                           StringRef name) {
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
    return diagnostics.error("the model has no kernels of its own"), failure();
  return check(files.write(options.emit == Emit::ptx
                               ? code.modules.front().ptx
                               : code.modules.front().cubin));
}

/// Keeps net.x86-64.ll and net.x86-64.s, with a number where there are
/// several.
LogicalResult StageOutputs::keepHostCode(ArrayRef<cpu::KernelModule> kernels,
                                         llvm::TargetMachine &machine,
                                         StringRef name) {
  for (auto [i, part] : llvm::enumerate(kernels)) {
    std::string stem = name.str();
    if (kernels.size() > 1)
      stem += "." + std::to_string(i);
    if (failed(check(files.save(*part.module, machine, stem))))
      return failure();
  }
  return success();
}

LogicalResult StageOutputs::keepArtifact(const CompiledModel &model,
                                         TimingScope &timing) {
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
