//===- Options.cpp - fritc's command line ---------------------------------===//

#include "compiler/driver/Options.h"

#include "codegen/cuda/Nvrtc.h"
#include "compiler/driver/HelpOps.h"
#include "compiler/driver/ShapeOptions.h"

#include "frit/dtype.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace frit;
using artifact::DTypeRow;
using llvm::StringRef;
namespace cl = llvm::cl;

namespace {

/// The options live for one parse; `cl` wants them registered before it.
struct CommandLine {
  cl::OptionCategory category{"fritc options"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<model.onnx>"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o",
                              cl::desc("Write the result to <file>; - is "
                                       "standard output"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> object{"c",
                       cl::desc("Write an object file to link into an "
                                "application, and its header"),
                       cl::cat(category)};
  cl::opt<bool> source{"S",
                       cl::desc("Write the CUDA C++ that would be compiled"),
                       cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("Write a stage: nn, fused, plan, cuda, ptx, cubin, obj "
               "or shared (the default)"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<std::string> header{
      "header",
      cl::desc("Where -c writes the C header (default: beside the "
               "object)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> language{"x",
                                cl::desc("The input's format: onnx or json"),
                                cl::value_desc("format"), cl::cat(category)};
  cl::list<std::string> march{
      "march", cl::CommaSeparated,
      cl::desc("Targets of the artifact: sm_80, sm_90a, sm_100, sm_120, ..., "
               "x86-64, x86-64-v2 to -v4 (default: x86-64-v3 and the GPU "
               "present, or sm_90a)"),
      cl::value_desc("arch,..."), cl::cat(category)};
  cl::opt<std::string> level{"O",
                             cl::Prefix,
                             cl::desc("0: one kernel per operator; 2: default"),
                             cl::value_desc("level"),
                             cl::init("2"),
                             cl::cat(category)};
  cl::opt<std::string> precision{
      "fprecision", cl::desc("Compute in fp32 (default), tf32, fp16 or bf16"),
      cl::value_desc("precision"), cl::init("fp32"), cl::cat(category)};
  cl::list<std::string> type{
      "ftype",
      cl::desc("Take an input or give an output in another type, image:u8 or "
               "logits:f16"),
      cl::value_desc("name:type"), cl::cat(category)};
  cl::list<std::string> shape{
      "fshape",
      cl::desc("Fix an input's shape, input:1x3x224x224, or a symbolic "
               "dimension, batch=8; or compile for several of its sizes, "
               "batch=1..64 or batch=1,8,64"),
      cl::value_desc("spec"), cl::cat(category)};
  cl::list<std::string> constInput{
      "fconst-input",
      cl::desc("Treat an input as the constant in a file, "
               "NAME=@FILE.npy"),
      cl::value_desc("spec"), cl::cat(category)};
  cl::opt<std::string> randomWeights{
      "frandom-weights", cl::desc("Make up weights whose files are missing"),
      cl::value_desc("seed"), cl::cat(category)};
  cl::opt<std::string> externalWeights{
      "fexternal-weights",
      cl::desc("Write the weights to a file beside the artifact"),
      cl::value_desc("file.safetensors"), cl::ValueOptional, cl::cat(category)};
  cl::opt<bool> fuse{"ffuse", cl::desc("Fuse operators (default)"),
                     cl::cat(category)};
  cl::opt<bool> noFuse{"fno-fuse", cl::desc("One operator per kernel"),
                       cl::cat(category)};
  cl::opt<bool> guard{"fguard",
                      cl::desc("Run what a condition picks only where it does "
                               "(default)"),
                      cl::cat(category)};
  cl::opt<bool> noGuard{"fno-guard",
                        cl::desc("Run both branches and pick a result"),
                        cl::cat(category)};
  cl::opt<bool> fork{"ffork",
                     cl::desc("Run kernels beside each other where the GPU has "
                              "room (default)"),
                     cl::cat(category)};
  cl::opt<bool> noFork{"fno-fork", cl::desc("Run one kernel after another"),
                       cl::cat(category)};
  cl::opt<bool> cublas{"fcublas",
                       cl::desc("Plan matrix products for cuBLASLt "
                                "(default)"),
                       cl::cat(category)};
  cl::opt<bool> noCublas{"fno-cublas",
                         cl::desc("Use frit's own matrix products"),
                         cl::cat(category)};
  cl::opt<bool> cudnn{"fcudnn",
                      cl::desc("Plan convolutions and attention for cuDNN "
                               "(default)"),
                      cl::cat(category)};
  cl::opt<bool> noCudnn{"fno-cudnn",
                        cl::desc("Use frit's own convolutions and attention"),
                        cl::cat(category)};
  cl::opt<std::string> tuneGenerate{
      "ftune-generate",
      cl::desc("Time the schedules of matrix products and convolutions on "
               "this machine's GPU, add the best to <file> and use them"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> tuneUse{
      "ftune-use", cl::desc("Use the schedules that <file> says are best"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> noTuned{
      "fno-tuned",
      cl::desc("Do not take the schedules that frit comes with, which were "
               "timed on an H200"),
      cl::cat(category)};
  cl::opt<std::string> tuneBudget{
      "tune-budget",
      cl::desc("How long -ftune-generate may time: 60s (default)"),
      cl::value_desc("time"), cl::init("60s"), cl::cat(category)};
  cl::opt<bool> verbose{"v", cl::desc("Say what is done"), cl::cat(category)};
  cl::opt<bool> dryRun{"###",
                       cl::desc("Say what would be done, and do nothing"),
                       cl::cat(category)};
  cl::opt<bool> saveTemps{"save-temps",
                          cl::desc("Keep every stage beside the "
                                   "output"),
                          cl::cat(category)};
  cl::opt<bool> timeReport{"ftime-report", cl::desc("Say where the time went"),
                           cl::cat(category)};
  cl::opt<bool> memoryReport{"memory-report",
                             cl::desc("Say what a call's memory is made of"),
                             cl::cat(category)};
  cl::opt<std::string> passed{
      "Rpass", cl::desc("Report what was done: fusion, schedule, layout, ..."),
      cl::value_desc("regex"), cl::cat(category)};
  cl::opt<std::string> missed{"Rpass-missed", cl::desc("Report what was not"),
                              cl::value_desc("regex"), cl::cat(category)};
  cl::opt<bool> wall{"Wall", cl::desc("All warnings (default)"),
                     cl::cat(category)};
  cl::opt<std::string> werror{
      "Werror", cl::ValueOptional,
      cl::desc("Warnings are errors; with =tune-miss only that a contraction "
               "is not tuned"),
      cl::value_desc("warning"), cl::cat(category)};
  cl::opt<bool> helpOps{"help-ops", cl::desc("List the operators"),
                        cl::cat(category)};
};

/// Reports wrong usage as every other message is reported.
std::nullopt_t usage(const llvm::Twine &message, int &status) {
  llvm::WithColor::error(llvm::errs(), "fritc") << message << "\n";
  status = kBadUsage;
  return std::nullopt;
}

bool isHostArch(StringRef arch) {
  return arch == "x86-64" || arch == "x86-64-v2" || arch == "x86-64-v3" ||
         arch == "x86-64-v4";
}

std::optional<Emit> parseEmit(StringRef name) {
  static const std::pair<StringRef, Emit> names[] = {
      {"nn", Emit::nn},       {"json", Emit::json},  {"fused", Emit::fused},
      {"plan", Emit::plan},   {"cuda", Emit::cuda},  {"ptx", Emit::ptx},
      {"cubin", Emit::cubin}, {"obj", Emit::object}, {"shared", Emit::shared}};
  for (auto [known, emit] : names)
    if (known == name)
      return emit;
  return std::nullopt;
}

/// The output's name where -o gives none: the input's with another ending.
std::string defaultOutput(StringRef input, Emit emit) {
  static constexpr StringRef endings[] = {"",     ".json",  "",   "",   ".cu",
                                          ".ptx", ".cubin", ".o", ".so"};
  StringRef ending = endings[size_t(emit)];
  if (ending.empty())
    return "-";
  return (llvm::sys::path::stem(input) + ending).str();
}

} // namespace

std::optional<DriverOptions>
frit::parseCommandLine(int argc, char **argv,
                       llvm::function_ref<std::string()> deviceArch,
                       int &status) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "fritc (frit) " FRIT_VERSION "\n"; });
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "fritc: compiles a model to a shared library that needs no "
          "framework\n\n"
          "Exit status: 0 done, 1 the input is at fault, 2 wrong usage, 3 a "
          "bug in frit.\n",
          &errors)) {
    llvm::errs() << message;
    status = kBadUsage;
    return std::nullopt;
  }
  status = kDone;
  if (line.helpOps) {
    printOperators(llvm::outs());
    return std::nullopt;
  }

  DriverOptions options;
  if (line.input.empty())
    return usage("no model given; try `fritc model.onnx -o model.so`", status);
  options.input = line.input;
  if (line.language == "onnx")
    options.language = Language::onnx;
  else if (line.language == "json")
    options.language = Language::json;
  else if (!line.language.empty())
    return usage("-x takes onnx or json, not '" + line.language + "'", status);

  if (line.object + line.source + !line.emit.empty() > 1)
    return usage("only one of -c, -S and --emit can be given", status);
  auto emit = parseEmit(line.object         ? "obj"
                        : line.source       ? "cuda"
                        : line.emit.empty() ? "shared"
                                            : StringRef(line.emit));
  if (!emit)
    return usage("--emit takes nn, json, fused, plan, cuda, ptx, cubin, obj or "
                 "shared, not '" +
                     line.emit + "'",
                 status);
  options.emit = *emit;
  options.output = line.output.empty() ? defaultOutput(options.input, *emit)
                                       : line.output.getValue();
  if (*emit == Emit::object && options.output != "-") {
    llvm::SmallString<128> header(options.output);
    llvm::sys::path::replace_extension(header, ".h");
    options.header =
        line.header.empty() ? header.str().str() : line.header.getValue();
  }

  options.defaultArchs = line.march.empty();
  if (options.defaultArchs) {
    std::string device = deviceArch();
    options.archs = {"x86-64-v3", device.empty() ? "sm_90a" : device};
  }
  for (const std::string &arch : line.march) {
    if (!isHostArch(arch) && !cuda::isCudaArch(arch))
      return usage("-march takes sm_NN, sm_NNa or x86-64[-v2..v4], not '" +
                       arch + "'",
                   status);
    if (!llvm::is_contained(options.archs, arch))
      options.archs.push_back(arch);
  }

  StringRef level = line.level;
  if (level.getAsInteger(10, options.level) || options.level > 3)
    return usage("-O takes 0 to 3, not '" + level + "'", status);
  options.precision = line.precision;
  if (!llvm::is_contained({"fp32", "tf32", "fp16", "bf16"}, options.precision))
    return usage("-fprecision takes fp32, tf32, fp16 or bf16, not '" +
                     options.precision + "'",
                 status);
  for (const std::string &spec : line.type) {
    auto [name, type] = StringRef(spec).rsplit(':');
    const DTypeRow *known =
        artifact::findDType(artifact::dtypeWith(&DTypeRow::name, type));
    if (name.empty() || !known)
      return usage("-ftype takes NAME:TYPE, as image:u8 or logits:f16, not '" +
                       spec + "'",
                   status);
    options.types.push_back((name + ":" + known->ir).str());
  }
  for (const std::string &spec : line.shape)
    if (!parseShape(spec, options))
      return usage("-fshape takes input:1x3x224x224, batch=8, batch=1..64 or "
                   "batch=1,8,64, not '" +
                       spec + "'",
                   status);
  if (int64_t count = countVariants(options); count > kMostVariants)
    return usage("-fshape asks for " + llvm::Twine(count) +
                     " variants of the model, and an artifact holds at most " +
                     llvm::Twine(kMostVariants) +
                     "; list fewer sizes, as -fshape=" +
                     options.openSymbols.back().name + "=1,8,64",
                 status);
  if (!options.openSymbols.empty() &&
      (*emit == Emit::nn || *emit == Emit::json || *emit == Emit::fused))
    return usage("--emit=nn, json and fused take one size of '" +
                     options.openSymbols.front().name + "'",
                 status);
  for (const std::string &spec : line.constInput) {
    auto [name, file] = StringRef(spec).split("=@");
    if (name.empty() || file.empty())
      return usage("-fconst-input takes NAME=@FILE, not '" + spec + "'",
                   status);
    options.import.constInputs[name] = file.str();
  }
  if (!line.randomWeights.empty()) {
    uint64_t seed;
    if (StringRef(line.randomWeights).getAsInteger(10, seed))
      return usage("-frandom-weights takes a number", status);
    options.import.randomWeights = seed;
  }
  if (line.externalWeights.getNumOccurrences()) {
    llvm::SmallString<128> file(options.output);
    llvm::sys::path::replace_extension(file, ".safetensors");
    options.weightsFile = line.externalWeights.empty()
                              ? file.str().str()
                              : line.externalWeights.getValue();
    if (!StringRef(options.weightsFile).ends_with(".safetensors"))
      return usage("-fexternal-weights takes FILE.safetensors, not '" +
                       options.weightsFile + "'",
                   status);
  }
  options.fuse = options.level > 0 && !line.noFuse;
  options.guard = !line.noGuard;
  options.fork = options.level > 0 && !line.noFork;
  options.cublas = !line.noCublas;
  options.cudnn = !line.noCudnn;
  options.dryRun = line.dryRun;
  options.verbose = line.verbose || line.dryRun;
  options.saveTemps = line.saveTemps;
  options.timeReport = line.timeReport;
  options.memoryReport = line.memoryReport;
  options.warningsAreErrors =
      line.werror.getNumOccurrences() && line.werror.empty();
  options.tuneMissesAreErrors = line.werror == "tune-miss";
  if (!line.werror.empty() && !options.tuneMissesAreErrors)
    return usage("-Werror takes tune-miss, not '" + line.werror + "'", status);
  options.tuneGenerate = line.tuneGenerate;
  options.tuneUse = line.tuneUse;
  options.tuned = !line.noTuned;
  if (!StringRef(line.tuneBudget).consume_back("s") ||
      StringRef(line.tuneBudget).drop_back().getAsDouble(options.tuneBudget) ||
      options.tuneBudget < 0)
    return usage("--tune-budget takes a time such as 60s, not '" +
                     line.tuneBudget + "'",
                 status);
  options.remarksPassed = line.passed;
  options.remarksMissed = line.missed;
  return options;
}
