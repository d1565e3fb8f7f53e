//===- Options.cpp - fritc's command line ---------------------------------===//

#include "compiler/driver/Options.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/HelpLists.h"
#include "compiler/driver/ModelName.h"
#include "compiler/driver/OptionTable.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/ShapeOptions.h"

#include "frit/dtype.h"
#include "frit/printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"
#include "llvm/TargetParser/Host.h"

using namespace frit;
using artifact::DTypeRow;
using llvm::StringRef;
using llvm::Twine;
using llvm::opt::Arg;

namespace {

/// Reads the arguments into `options`; each step is false after an error.
class CommandLine {
public:
  CommandLine(const FritcOptions &parser, const llvm::opt::InputArgList &args,
              llvm::function_ref<std::string()> deviceArch)
      : parser(parser), args(args), deviceArch(deviceArch) {}

  bool read() {
    return readInput() && readOutput() && readTargets() && readModel() &&
           readWeights() && readCode() && readWarnings() && checkOutputs();
  }

  DriverOptions options;
  ExitStatus status = kDone;

private:
  bool wrong(const Twine &message, ExitStatus why = kBadUsage) {
    parser.wrong(message);
    status = why;
    return false;
  }
  /// False after an error, where the table does not list `value`.
  bool isValue(OptionId option, StringRef value) {
    if (llvm::is_contained(parser.valuesOf(option), value))
      return true;
    parser.wrongValue(option, value);
    status = kBadUsage;
    return false;
  }
  /// The option's last value if it is one of the table's, `otherwise` where it
  /// is not given, and nothing after an error.
  std::optional<StringRef> chosen(OptionId option, StringRef otherwise) {
    const Arg *arg = args.getLastArg(option);
    if (!arg)
      return otherwise;
    if (isValue(option, arg->getValue()))
      return arg->getValue();
    return std::nullopt;
  }

  bool readInput();
  bool readOutput();
  bool readTargets();
  bool addNative();
  bool readKept(StringRef path);
  bool readModel();
  bool readWeights();
  bool readCode();
  bool readWarnings();
  bool readRemarks(OptionId option, std::string &expression);
  bool checkOutputs();
  /// The output with another ending, for what lies beside it.
  std::string besideOutput(StringRef ending) const {
    llvm::SmallString<128> path(options.output);
    llvm::sys::path::replace_extension(path, ending);
    return path.str().str();
  }

  const FritcOptions &parser;
  const llvm::opt::InputArgList &args;
  llvm::function_ref<std::string()> deviceArch;
};

} // namespace

bool CommandLine::readInput() {
  std::vector<std::string> inputs = args.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return wrong("no model given; try `fritc model.onnx -o model.so`");
  if (inputs.size() > 1)
    return wrong("one model is compiled at a time, not '" + inputs[0] +
                 "' and '" + inputs[1] + "'");
  options.input = inputs.front();
  auto language = chosen(OPT_x, "");
  if (!language)
    return false;
  if (!language->empty())
    options.language = *language == "json" ? Language::json : Language::onnx;
  protectInput(options.input);
  return true;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

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

/// The output's name where -o gives none: the input's with another ending.
static std::string defaultOutput(StringRef input, Emit emit) {
  static constexpr StringRef endings[] = {
      "", ".json", "", "", "", ".cu", ".ptx", ".cubin", ".o", ".so"};
  StringRef ending = endings[size_t(emit)];
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
    options.output = defaultOutput(options.input, options.emit);
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
                     : modelNameOf(isStream ? options.input : options.output);
  options.title = !name.empty() ? name.str()
                  : options.input == "-"
                      ? "model"
                      : llvm::sys::path::stem(options.input).str();

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

/// Whatever is wrong with an output is better known before hours of tuning.
bool CommandLine::checkOutputs() {
  std::pair<StringRef, std::string> outputs[] = {
      {"-o", options.output},
      {"--header", options.header},
      {"--report", options.report},
      {"-fexternal-weights", options.weightsFile},
      {"-ftune-generate", options.tuneGenerate}};
  for (auto &output : outputs) {
    auto &[option, path] = output;
    if (path.empty() || options.dryRun)
      continue;
    if (std::error_code error = checkOutput(path))
      return wrong("cannot write '" + path + "': " + error.message(),
                   isOutputFault(error) ? kBadUsage : kMachine);
    for (auto *other = outputs; other != &output; ++other)
      if (!other->second.empty() && isSameOutput(path, other->second))
        return wrong(other->first + " and " + option +
                     " write the same file, '" + path + "'");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static bool isHostArch(StringRef arch) { return arch.starts_with("x86-64"); }

/// The level of this machine's processor.
static StringRef hostArch() {
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<StringRef> features) {
    return llvm::all_of(features, [&](StringRef f) { return has.lookup(f); });
  };
  if (!hasAll({"sse4.2", "ssse3", "popcnt", "cx16"}))
    return "x86-64";
  if (!hasAll({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}))
    return "x86-64-v2";
  return hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
             ? "x86-64-v4"
             : "x86-64-v3";
}

bool CommandLine::addNative() {
  std::string device = deviceArch();
  options.archs.push_back(hostArch().str());
  if (!device.empty())
    options.archs.push_back(device);
  return true;
}

bool CommandLine::readTargets() {
  std::vector<std::string> known = parser.valuesOf(OPT_march_EQ);
  options.defaultArchs = !args.hasArg(OPT_march_EQ);
  if (options.defaultArchs) {
    std::string device = deviceArch();
    bool isKnown = llvm::is_contained(known, device);
    options.archs = {"x86-64-v3", isKnown ? device : "sm_90a"};
  }
  for (StringRef list : args.getAllArgValues(OPT_march_EQ))
    for (StringRef arch : llvm::split(list, ',')) {
      if (!isValue(OPT_march_EQ, arch))
        return false;
      if (arch == "native")
        addNative();
      else
        options.archs.push_back(arch.str());
    }
  std::vector<std::string> given = std::move(options.archs);
  options.archs.clear();
  for (const std::string &arch : given)
    if (!llvm::is_contained(options.archs, arch))
      options.archs.push_back(arch);
  // CUDA is all that these write.
  if (options.emit == Emit::cuda || options.emit == Emit::ptx ||
      options.emit == Emit::cubin)
    llvm::erase_if(options.archs, isHostArch);
  bool takesOne = options.emit == Emit::ptx || options.emit == Emit::cubin;
  if (options.archs.empty() || (takesOne && options.archs.size() > 1))
    return wrong(Twine(options.emit == Emit::cuda  ? "-S"
                       : options.emit == Emit::ptx ? "--emit=ptx"
                                                   : "--emit=cubin") +
                 " takes " + (takesOne ? "one" : "a") +
                 " target of CUDA, as "
                 "-march=sm_90a");
  for (const std::string &arch : options.archs)
    if (!llvm::is_contained(known, arch))
      return wrong("-march=native: this machine's GPU is " + arch +
                   ", for which frit does not compile");
  return true;
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

/// Reads the file of -fkeep-fp32.
bool CommandLine::readKept(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return wrong("-fkeep-fp32: cannot read '" + path +
                     "': " + file.getError().message(),
                 kBadInput);
  protectInput(path.str());
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/true, '#');
       !line.is_at_end(); ++line) {
    StringRef pattern = line->trim();
    auto glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      return wrong("-fkeep-fp32: '" + pattern + "' in '" + path +
                       "': " + llvm::toString(glob.takeError()),
                   kBadInput);
    options.keepWide.push_back(pattern.str());
  }
  return true;
}

/// Reads a size such as 8GiB, 8G or 500M; units are powers of 1024.
static std::optional<int64_t> parseBytes(StringRef text) {
  (void)(text.consume_back("iB") || text.consume_back("B"));
  int shift = text.consume_back("K")   ? 10
              : text.consume_back("M") ? 20
              : text.consume_back("G") ? 30
                                       : 0;
  double number;
  if (text.empty() || !llvm::isDigit(text.front()) ||
      text.getAsDouble(number) || std::ldexp(number, shift) >= 0x1p62)
    return std::nullopt;
  return int64_t(std::ldexp(number, shift));
}

bool CommandLine::readModel() {
  auto precision = chosen(OPT_fprecision_EQ, "fp32");
  if (!precision)
    return false;
  options.precision = precision->str();
  if (const Arg *keep = args.getLastArg(OPT_fkeep_fp32_EQ))
    if (!readKept(keep->getValue()))
      return false;
  options.trainingFile = args.getLastArgValue(OPT_train_EQ).str();
  options.dataParallel = args.hasArg(OPT_fdata_parallel);
  if (options.dataParallel && options.trainingFile.empty())
    return wrong("-fdata-parallel is used with --train=train.json");
  options.syncBatchNorm = args.hasArg(OPT_fsync_batch_norm);
  if (options.syncBatchNorm && !options.dataParallel)
    return wrong("-fsync-batch-norm is used with -fdata-parallel");
  if (!options.trainingFile.empty()) {
    protectInput(options.trainingFile);
    if (*precision == "fp16" || *precision == "bf16")
      return wrong("weights train in f32: use -fprecision=amp-" + *precision);
    if (options.emit == Emit::ptx || options.emit == Emit::cubin)
      return wrong("--emit=ptx and --emit=cubin write one function's code, and "
                   "--train makes two functions; -save-temps keeps the code of "
                   "both");
  }
  if (const Arg *limit = args.getLastArg(OPT_fmemory_limit_EQ)) {
    options.memoryLimit = parseBytes(limit->getValue());
    if (!options.memoryLimit)
      return wrong("-fmemory-limit takes a size such as 8GiB or 500M, not '" +
                   Twine(limit->getValue()) + "'");
  }
  for (StringRef spec : args.getAllArgValues(OPT_ftype_EQ)) {
    auto [name, type] = spec.rsplit(':');
    const DTypeRow *known =
        artifact::findDType(artifact::dtypeWith(&DTypeRow::name, type));
    if (name.empty() || !known)
      return wrong("-ftype takes NAME:TYPE, as image:u8 or logits:f16, not '" +
                   spec + "'");
    options.types.push_back((name + ":" + known->ir).str());
  }
  for (StringRef spec : args.getAllArgValues(OPT_fshape_EQ))
    if (!parseShape(spec, options.import, options.openSymbols))
      return wrong("-fshape takes input:1x3x224x224, batch=8, batch=1..64 or "
                   "batch=1,8,64, not '" +
                   spec + "'");
  for (StringRef spec : args.getAllArgValues(OPT_fbound_EQ)) {
    auto [name, number] = spec.rsplit(':');
    int64_t bound;
    if (name.empty() || number.getAsInteger(10, bound) || bound < 1)
      return wrong("-fbound takes NODE:NUMBER, as boxes/NonZero:4096, not '" +
                   spec + "'");
    options.import.bounds[name] = bound;
  }
  if (int64_t count = countVariants(options.openSymbols); count > kMostVariants)
    return wrong("-fshape asks for " + Twine(count) +
                 " variants of the model, and an artifact holds at most " +
                 Twine(kMostVariants) + "; list fewer sizes, as -fshape=" +
                 options.openSymbols.back().name + "=1,8,64");
  if (!options.openSymbols.empty() &&
      (options.emit == Emit::nn || options.emit == Emit::json ||
       options.emit == Emit::fused))
    return wrong("--emit=nn, json and fused take one size of '" +
                 options.openSymbols.front().name + "'");
  return true;
}

bool CommandLine::readWeights() {
  for (StringRef spec : args.getAllArgValues(OPT_fconst_input_EQ)) {
    auto [name, file] = spec.split("=@");
    if (name.empty() || file.empty())
      return wrong("-fconst-input takes NAME=@FILE, not '" + spec + "'");
    options.import.constInputs[name] = file.str();
    protectInput(file.str());
  }
  if (const Arg *arg = args.getLastArg(OPT_frandom_weights_EQ)) {
    uint64_t seed;
    if (StringRef(arg->getValue()).getAsInteger(10, seed))
      return wrong("-frandom-weights takes a number, not '" +
                   Twine(arg->getValue()) + "'");
    options.import.randomWeights = seed;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

bool CommandLine::readCode() {
  auto level = chosen(OPT_O, "2");
  if (!level)
    return false;
  level->getAsInteger(10, options.level);
  bool optimises = options.level > 0;
  options.fuse = optimises && args.hasFlag(OPT_ffuse, OPT_fno_fuse, true);
  options.guard = args.hasFlag(OPT_fguard, OPT_fno_guard, true);
  options.fork = optimises && args.hasFlag(OPT_ffork, OPT_fno_fork, true);
  options.cublas = args.hasFlag(OPT_fcublas, OPT_fno_cublas, true);
  options.cudnn = args.hasFlag(OPT_fcudnn, OPT_fno_cudnn, true);
  options.deterministic = args.hasArg(OPT_fdeterministic);
  options.dryRun = args.hasArg(OPT_dry_run);
  options.verbose = options.dryRun || args.hasArg(OPT_v);
  options.timeReport = args.hasArg(OPT_ftime_report);
  options.memoryReport = args.hasArg(OPT_memory_report);

  options.tuneGenerate = args.getLastArgValue(OPT_ftune_generate_EQ).str();
  options.tuneUse = args.getLastArgValue(OPT_ftune_use_EQ).str();
  options.tuned = args.hasFlag(OPT_ftuned, OPT_fno_tuned, true);
  // A tune file that is both read and written is extended, not overwritten.
  if (!options.tuneUse.empty() &&
      (options.tuneGenerate.empty() ||
       !isSameOutput(options.tuneUse, options.tuneGenerate)))
    protectInput(options.tuneUse);
  StringRef budget = args.getLastArgValue(OPT_tune_budget_EQ, "60s"),
            seconds = budget;
  if (!seconds.consume_back("s") || seconds.getAsDouble(options.tuneBudget) ||
      !(options.tuneBudget >= 0))
    return wrong("--tune-budget takes a time such as 60s, not '" + budget +
                 "'");
  return true;
}

//===----------------------------------------------------------------------===//
// Warnings and remarks
//===----------------------------------------------------------------------===//

bool CommandLine::readWarnings() {
  WarningOptions &warnings = options.warnings;
  std::vector<std::string> known = warningNames();
  auto nearest = [&](StringRef name) {
    std::string word = nearestTo(name, known);
    return word.empty() ? "; its warnings are " + listOf(known)
                        : "; did you mean '" + word + "'?";
  };
  for (const Arg *arg :
       args.filtered(OPT_w, OPT_Wall, OPT_Werror, OPT_Wno_error, OPT_Werror_EQ,
                     OPT_Wno_error_EQ, OPT_Wno_, OPT_W_)) {
    StringRef name = arg->getNumValues() ? arg->getValue() : "";
    bool isKnown = name.empty() || llvm::is_contained(known, name);
    switch (arg->getOption().getID()) {
    case OPT_w:
      warnings.none = true;
      break;
    case OPT_Werror:
      warnings.areErrors = true;
      break;
    case OPT_Wno_error:
      warnings.areErrors = false;
      break;
    case OPT_Werror_EQ:
    case OPT_Wno_error_EQ:
      if (!isKnown || name.empty())
        return wrong(Twine(arg->getSpelling()) + name +
                     ": frit has no such warning" + nearest(name));
      warnings.isError[name] = arg->getOption().matches(OPT_Werror_EQ);
      break;
    case OPT_W_:
    case OPT_Wno_:
      // Build systems hand on what they give to compilers of C.
      if (!isKnown && !warnings.none)
        llvm::WithColor::warning(llvm::errs(), "fritc")
            << printable((arg->getSpelling() + name).str())
            << ": frit has no such warning" << nearest(name) << "\n";
      warnings.isShown[name] = arg->getOption().matches(OPT_W_);
      break;
    default: // -Wall is how it is.
      break;
    }
  }
  return readRemarks(OPT_Rpass_EQ, options.remarksPassed) &&
         readRemarks(OPT_Rpass_missed_EQ, options.remarksMissed);
}

bool CommandLine::readRemarks(OptionId option, std::string &expression) {
  expression = args.getLastArgValue(option).str();
  std::string error;
  if (args.hasArg(option) && !llvm::Regex(expression).isValid(error))
    return wrong(parser.getOptionPrefixedName(option) + expression +
                 ": no regular expression: " + error);
  return true;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Prints what options such as --help ask for. False where none is given.
static bool answer(const FritcOptions &parser,
                   const llvm::opt::InputArgList &args) {
  const Arg *arg = args.getLastArg(OPT_help, OPT_help_EQ, OPT_version,
                                   OPT_help_ops, OPT_help_targets);
  if (!arg) {
    bool isAlone = args.hasArg(OPT_v) && !args.hasArg(OPT_INPUT);
    if (isAlone) {
      auto nvrtc = cuda::describeNvrtc();
      llvm::errs() << "fritc (frit) " FRIT_VERSION "\n"
                   << (nvrtc ? *nvrtc : llvm::toString(nvrtc.takeError()))
                   << "\n";
    }
    return isAlone;
  }
  if (arg->getOption().matches(OPT_version))
    llvm::outs() << "fritc (frit) " FRIT_VERSION "\n";
  else if (arg->getOption().matches(OPT_help_ops))
    printOperators(llvm::outs());
  else if (arg->getOption().matches(OPT_help_targets))
    printTargets(llvm::outs(), parser.valuesOf(OPT_march_EQ));
  else
    llvm::outs() << printHelp(
        fritcHelp(parser),
        parseHelpForm(arg->getNumValues() ? arg->getValue() : "text")
            .value_or(HelpForm::text));
  return true;
}

std::optional<DriverOptions>
frit::parseCommandLine(int argc, char **argv,
                       llvm::function_ref<std::string()> deviceArch,
                       int &status) {
  setUpColors();
  FritcOptions parser;
  std::optional<llvm::opt::InputArgList> args = parser.parse(argc, argv);
  status = args ? kDone : kBadUsage;
  if (!args || answer(parser, *args))
    return std::nullopt;
  CommandLine line(parser, *args, deviceArch);
  if (line.read())
    return std::move(line.options);
  status = line.status;
  return std::nullopt;
}
