//===- OutputOptions.cpp - Options that say what is written ---------------===//

#include "compiler/driver/options/CommandLine.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/ModelName.h"
#include "compiler/driver/ModelOutputs.h"
#include "compiler/support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace frit;
using llvm::StringRef;
using llvm::Twine;
using llvm::opt::Arg;

static Emit parseEmit(StringRef name) {
  return llvm::StringSwitch<Emit>(name)
      .Case("nn", Emit::nn)
      .Case("json", Emit::json)
      .Case("fused", Emit::fused)
      .Case("plan", Emit::plan)
      .Case("dot", Emit::dot)
      .Case("cuda", Emit::cuda)
      .Case("ptx", Emit::ptx)
      .Case("cubin", Emit::cubin)
      .Case("obj", Emit::object)
      .Default(Emit::shared);
}

/// Returns the output's name if there is no -o: the input's with another
/// ending.
static std::string defaultOutput(StringRef input, Emit emit, bool isWindows) {
  static constexpr StringRef endings[] = {
      "", ".json", "", "", "", ".cu", ".ptx", ".cubin", ".o", ".so"};
  StringRef ending =
      isWindows && emit == Emit::shared ? ".dll" : endings[size_t(emit)];
  if (ending.empty() || input == "-")
    return "-";
  return (llvm::sys::path::stem(input) + ending).str();
}

bool CommandLine::readOutput() {
  if (args.hasArg(OPT_c) + args.hasArg(OPT_S) + args.hasArg(OPT_shared) +
          args.hasArg(OPT_emit_EQ) >
      1)
    return wrong("only one of -c, -S, -shared and --emit can be given");
  auto stage = chosen(OPT_emit_EQ, args.hasArg(OPT_c)   ? "obj"
                                   : args.hasArg(OPT_S) ? "cuda"
                                                        : "shared");
  if (!stage)
    return false;
  options.emit = parseEmit(*stage);
  options.output = args.getLastArgValue(OPT_o).str();
  if (args.hasArg(OPT_o) && options.output.empty())
    return wrong("-o takes a file, or - for standard output");
  if (options.output.empty())
    options.output =
        defaultOutput(options.inputs.front().path, options.emit,
                      args.getLastArgValue(OPT_os_EQ) == "windows");
  bool isStream = isStreamOutput(options.output);
  options.header = args.getLastArgValue(OPT_header_EQ).str();
  if (options.emit != Emit::object && !options.header.empty())
    return wrong("--header is for object files; add -c");
  if (options.emit == Emit::object && options.header.empty() && !isStream)
    options.header = besideOutput(".h");

  options.report = args.getLastArgValue(OPT_report_EQ).str();
  if (args.hasArg(OPT_report_EQ) && options.report.empty())
    return wrong("--report takes a file, as model.html");
  if (!options.report.empty() &&
      (options.emit == Emit::nn || options.emit == Emit::json ||
       options.emit == Emit::fused))
    return wrong("--report shows the plan, before which --emit=" + *stage +
                 " ends");

  StringRef name = args.getLastArgValue(OPT_name_EQ);
  if (args.hasArg(OPT_name_EQ) && !isModelName(name))
    return wrong("--name takes a C identifier that is neither frit's nor "
                 "reserved, as " +
                 modelNameOf(name) + ", not '" + name + "'");
  options.name = !name.empty()
                     ? name.str()
                     : modelNameOf(isStream ? options.inputs.front().path
                                            : options.output);
  options.title =
      !name.empty() ? name.str()
      : options.inputs.front().path == "-"
          ? "model"
          : llvm::sys::path::stem(options.inputs.front().path).str();

  if (const Arg *arg =
          args.getLastArg(OPT_fexternal_weights, OPT_fexternal_weights_EQ)) {
    bool isNamed = arg->getOption().matches(OPT_fexternal_weights_EQ);
    options.weightsFile =
        isNamed ? arg->getValue() : besideOutput(".safetensors");
    if (!StringRef(options.weightsFile).ends_with(".safetensors"))
      return wrong("-fexternal-weights takes FILE.safetensors, not '" +
                   options.weightsFile + "'");
    if (!isNamed && isStream)
      return wrong("-fexternal-weights takes a name where the output has none, "
                   "-fexternal-weights=FILE.safetensors");
  }
  options.saveTemps = args.hasArg(OPT_save_temps);
  return true;
}

std::vector<OutputName> frit::outputsOf(const DriverOptions &options) {
  std::vector<OutputName> outputs = {
      {"-o", options.output},
      {"--header", options.header},
      {"--report", options.report},
      {"-fexternal-weights", options.weightsFile},
      {"-ftune-generate", options.tuneGenerate}};
  if (!options.quantization.data.empty())
    outputs.push_back({"--scales", options.quantization.scales});
  if (options.emit == Emit::json && !isStreamOutput(options.output))
    outputs.push_back({"--emit=json", jsonWeightsName(options.output)});
  llvm::erase_if(outputs,
                 [](const OutputName &output) { return output.path.empty(); });
  return outputs;
}

bool CommandLine::findUnused() {
  Emit emit = options.emit;
  bool hasTargets = emit != Emit::nn && emit != Emit::json;
  bool hasGpu = llvm::any_of(
      options.archs, [](StringRef arch) { return cuda::isCudaArch(arch); });
  bool isWhole = emit == Emit::object || emit == Emit::shared;
  std::string stage =
      args.hasArg(OPT_S) ? "with -S"
      : args.hasArg(OPT_emit_EQ)
          ? "with --emit=" + args.getLastArgValue(OPT_emit_EQ).str()
          : "";
  const frit::options::OptionUse uses[] = {
      {Targets, hasTargets, stage.c_str()},
      {Gpus, hasTargets && hasGpu,
       hasTargets ? "without a target of CUDA, as -march=sm_90a"
                  : stage.c_str()},
      {Artifact, isWhole, stage.c_str()},
      {HostCode, isWhole, stage.c_str()},
      {OneFile,
       !llvm::all_of(options.inputs,
                     [](const ModelInput &input) { return input.isDecoder; }),
       "on a language model's folder or GGUF file"}};
  for (std::string &message : parser.findUnused(args, uses))
    options.unused.push_back(std::move(message));
  return true;
}

/// Checks outputs first, before hours of tuning.
bool CommandLine::checkOutputs() {
  if (options.dryRun)
    return true;
  OutputRefusal refusal = frit::checkOutputs(outputsOf(options));
  return !refusal.code ||
         wrong(refusal.message,
               isOutputFault(refusal.code) ? kBadUsage : kMachine);
}
