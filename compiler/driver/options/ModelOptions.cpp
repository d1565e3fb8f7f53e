//===- ModelOptions.cpp - Options of targets and of the model -------------===//

#include "compiler/driver/options/CommandLine.h"
#include "compiler/driver/options/ShapeOptions.h"
#include "compiler/support/OutputFile.h"
#include "compiler/transform/quantize/WeightCodes.h"

#include "frit/dtype.h"
#include "frit/host_arch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <cmath>

using namespace frit;
using artifact::DTypeRow;
using llvm::StringRef;
using llvm::Twine;
using llvm::opt::Arg;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static bool isHostArch(StringRef arch) { return findHostArch(arch); }

StringRef frit::hostArch() {
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

/// Looks for this machine's GPU. Returns its architecture, or "" without one.
std::string CommandLine::presentGpu() {
  options.gpu = findGpu();
  return options.gpu ? options.gpu->name : "";
}

/// Sets the kind of machine that the artifact is for: that of its CPU targets.
/// Without any it is x86-64, unless all GPUs are beside other processors.
bool CommandLine::readMachine() {
  const HostArch *first = nullptr;
  for (StringRef arch : options.archs) {
    const HostArch *host = findHostArch(arch);
    if (host && first && host->machine != first->machine)
      return wrong("-march: " + Twine(first->name) + " and " + host->name +
                   " are processors of different machines; compile an artifact "
                   "for each");
    first = first ? first : host;
  }
  auto system = chosen(OPT_os_EQ, "linux");
  if (!system)
    return false;
  if (*system == "windows")
    options.system = HostSystem::windows;
  if (first) {
    options.machine = first->machine;
    if (options.system == HostSystem::windows &&
        options.machine != HostMachine::x86_64)
      return wrong("--os=windows is for x86-64, and -march names " +
                   Twine(first->name));
    return true;
  }
  if (options.system == HostSystem::windows)
    return true;
  const char *arm = nameOf(HostMachine::aarch64);
  if (llvm::all_of(options.archs, [&](StringRef arch) {
        return cuda::describeArch(arch).host == arm;
      }))
    options.machine = HostMachine::aarch64;
  return true;
}

bool CommandLine::readTargets() {
  std::vector<std::string> known = parser.valuesOf(OPT_march_EQ);
  options.defaultArchs = !args.hasArg(OPT_march_EQ);
  if (options.defaultArchs) {
    std::string device = presentGpu();
    bool isKnown = llvm::is_contained(known, device);
    options.archs = {"x86-64-v3", isKnown ? device : "sm_90a"};
  }
  for (StringRef list : args.getAllArgValues(OPT_march_EQ))
    for (StringRef arch : llvm::split(list, ',')) {
      if (!isValue(OPT_march_EQ, arch))
        return false;
      if (arch == "native") {
        options.archs.push_back(hostArch().str());
        if (std::string device = presentGpu(); !device.empty())
          options.archs.push_back(device);
      } else {
        options.archs.push_back(arch.str());
      }
    }
  std::vector<std::string> given = std::move(options.archs);
  options.archs.clear();
  for (const std::string &arch : given)
    if (!llvm::is_contained(options.archs, arch))
      options.archs.push_back(arch);
  if (!readMachine())
    return false;
  // Only CUDA targets have these stages.
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
  if (!takeInput("-fkeep-fp32", path))
    return false;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return wrong("-fkeep-fp32: cannot read '" + path +
                     "': " + file.getError().message(),
                 kBadInput);
  options.keepWideFile = path.str();
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

/// Reads a size such as 8GiB, 8G or 500M, at least a byte; units are powers of
/// 1024.
static std::optional<int64_t> parseBytes(StringRef text) {
  (void)(text.consume_back("iB") || text.consume_back("B"));
  int shift = text.consume_back("K")   ? 10
              : text.consume_back("M") ? 20
              : text.consume_back("G") ? 30
              : text.consume_back("T") ? 40
                                       : 0;
  double number;
  if (text.empty() || !llvm::isDigit(text.front()) ||
      text.find_first_not_of("0123456789.") != text.npos ||
      text.getAsDouble(number) || std::ldexp(number, shift) >= 0x1p62 ||
      std::ldexp(number, shift) < 1)
    return std::nullopt;
  return int64_t(std::ldexp(number, shift));
}

/// Reads the options of training on several GPUs.
bool CommandLine::readDataParallel() {
  DataParallelOptions &ranks = options.dataParallel;
  ranks.enabled = args.hasArg(OPT_fdata_parallel);
  ranks.syncBatchNorm = args.hasArg(OPT_fsync_batch_norm);
  ranks.shardOptimizer = args.hasArg(OPT_fshard_optimizer);
  ranks.compressGradients = args.hasArg(OPT_fcompress_gradients);
  if (ranks.enabled && options.trainingFile.empty())
    return wrong("-fdata-parallel is used with --train=train.json");
  if (const Arg *arg = args.getLastArg(
          OPT_fsync_batch_norm, OPT_fshard_optimizer, OPT_fcompress_gradients);
      arg && !ranks.enabled)
    return wrong(arg->getSpelling() + " is used with -fdata-parallel");
  return true;
}

/// Reads what is trained, and what is not used with it.
bool CommandLine::readTraining() {
  options.trainingFile = args.getLastArgValue(OPT_train_EQ).str();
  if (args.hasArg(OPT_ffp8_gradients_EQ) && options.precision != "amp-fp8")
    return wrong("-ffp8-gradients is used with -fprecision=amp-fp8");
  if (options.precision == "amp-fp8" && options.trainingFile.empty())
    return wrong(
        "-fprecision=amp-fp8 is used with --train=train.json; "
        "-fquantize=fp8 computes a model that does not train in floats "
        "of 8 bits");
  if (!options.weights.empty() && !options.trainingFile.empty())
    return wrong("-fweights is not used with --train, which updates weights");
  if (!readDataParallel())
    return false;
  for (ModelInput &input : options.inputs)
    input.import.checkIndices = args.hasArg(OPT_fcheck_indices);
  if (args.hasArg(OPT_fcheck_indices) && !options.trainingFile.empty())
    return wrong("-fcheck-indices is not used with --train: frit-train checks "
                 "the indices in its data. Compile the model without --train "
                 "to check those that it computes");
  if (!options.trainingFile.empty()) {
    protectInput(options.trainingFile);
    if (options.inputs.size() > 1)
      return wrong("--train compiles one model, whose training step and "
                   "evaluation step are functions of one artifact");
    if (options.precision == "fp16" || options.precision == "bf16")
      return wrong("weights train in f32: use -fprecision=amp-" +
                   options.precision);
  }
  return true;
}

bool CommandLine::readMemoryLimit() {
  if (const Arg *limit = args.getLastArg(OPT_fmemory_limit_EQ)) {
    options.memoryLimit = parseBytes(limit->getValue());
    if (!options.memoryLimit)
      return wrong("-fmemory-limit takes a size such as 8GiB or 500M, not '" +
                   Twine(limit->getValue()) + "'");
  }
  return true;
}

bool CommandLine::readTypes() {
  for (StringRef spec : args.getAllArgValues(OPT_ftype_EQ)) {
    auto [name, type] = spec.rsplit(':');
    const DTypeRow *known =
        artifact::findDType(artifact::dtypeWith(&DTypeRow::name, type));
    if (name.empty() || !known || !*known->ir)
      return wrong("-ftype takes NAME:TYPE, as image:u8 or logits:f16, not '" +
                   spec + "'");
    (void)forInputs(name, [&](ModelInput &input, StringRef name) {
      input.types.push_back((name + ":" + known->ir).str());
      return true;
    });
  }
  return true;
}

bool CommandLine::readStates() {
  for (StringRef spec : args.getAllArgValues(OPT_fstate_EQ))
    if (!forInputs(spec, [](ModelInput &input, StringRef pair) {
          input.states.push_back(pair.str());
          auto [name, next] = pair.split(':');
          return !name.empty() && !next.empty();
        }))
      return wrong("-fstate takes INPUT:OUTPUT, as past:present, not '" + spec +
                   "'");
  return true;
}

/// Reads sizes that models leave open: -fshape, -fbound and -felements.
bool CommandLine::readSizes() {
  for (StringRef spec : args.getAllArgValues(OPT_fshape_EQ))
    if (!forInputs(spec, [](ModelInput &input, StringRef shape) {
          return parseShape(shape, input.import, input.openSymbols);
        }))
      return wrong("-fshape takes input:1x3x224x224, batch=8, batch=1..64, "
                   "batch=1,8,64, height=64..512/32 or x.0=batch, where sizes "
                   "are at least 1 and those before a / its multiples, not '" +
                   spec + "'");
  for (StringRef spec : args.getAllArgValues(OPT_fbound_EQ)) {
    if (!forInputs(spec, [](ModelInput &input, StringRef text) {
          auto [name, number] = text.rsplit(':');
          return !name.empty() &&
                 !number.getAsInteger(10, input.import.bounds[name]) &&
                 input.import.bounds[name] >= 1;
        }))
      return wrong("-fbound takes NODE:NUMBER, as boxes/NonZero:4096, not '" +
                   spec + "'");
  }
  for (StringRef spec : args.getAllArgValues(OPT_felements_EQ)) {
    if (!forInputs(spec, [](ModelInput &input, StringRef text) {
          auto [name, number] = text.rsplit(':');
          return !name.empty() &&
                 !number.getAsInteger(10, input.import.elements[name]) &&
                 input.import.elements[name] >= 0;
        }))
      return wrong("-felements takes INPUT:NUMBER, as boxes:3, not '" + spec +
                   "'");
  }
  return true;
}

/// Checks how many variants the shapes ask for, and what is written of them.
bool CommandLine::checkVariants() {
  for (const ModelInput &input : options.inputs) {
    if (int64_t count = countVariants(input.openSymbols);
        count > kMostVariants) {
      std::string all, fewer = suggestSizes(input.openSymbols);
      for (const SymbolSizes &symbol : input.openSymbols)
        all += (all.empty() ? "" : " times ") +
               std::to_string(symbol.sizes.size()) + " of '" + symbol.name +
               "'";
      return wrong("-fshape asks for " + Twine(count) +
                   " variants of the model, " + all +
                   ", and an artifact holds at most " + Twine(kMostVariants) +
                   (fewer.empty()
                        ? "; list fewer sizes, as -fshape=" +
                              input.openSymbols.back().name + "=1,8,64"
                        : "; the same ranges with fewer variants are" + fewer));
    }
    if (!input.openSymbols.empty() && !input.isDecoder && !input.hasCaches &&
        (options.emit == Emit::nn || options.emit == Emit::json ||
         options.emit == Emit::fused))
      return wrong("--emit=nn, json and fused take one size of '" +
                   input.openSymbols.front().name + "'");
  }
  if (options.inputs.size() > 1 && options.emit == Emit::json)
    return wrong("--emit=json writes one model");
  return true;
}

bool CommandLine::readModel() {
  auto precision = chosen(OPT_fprecision_EQ, "fp32");
  if (!precision)
    return false;
  options.precision = precision->str();
  auto gradients = chosen(OPT_ffp8_gradients_EQ, "e5m2");
  if (!gradients)
    return false;
  options.float8Gradients = gradients->str();
  options.weights = args.getLastArgValue(OPT_fweights_EQ).str();
  if (args.hasArg(OPT_fweights_EQ) && !readWeightFormat(options.weights))
    return wrong("-fweights takes int8, int4, fp8 or mxfp4, perhaps with the "
                 "number of weights that share a scale, as int4:64: a power of "
                 "two from 32 to 1024, 32 of mxfp4");
  if (const Arg *sparse = args.getLastArg(OPT_fsparse_EQ)) {
    auto read = readSparsity(sparse->getValue());
    if (!read)
      return wrong("-fsparse takes 2:4, for weights of which two of four "
                   "neighbours are 0, or 2:4:magnitude, which makes them so");
    options.sparsity = *read;
  }
  if (const Arg *keep = args.getLastArg(OPT_fkeep_fp32_EQ))
    if (!readKept(keep->getValue()))
      return false;
  for (StringRef path : args.getAllArgValues(OPT_custom_op_EQ)) {
    protectInput(path.str());
    options.customOpFiles.push_back(path.str());
  }
  return readTraining() && readMemoryLimit() && readTypes() && readStates() &&
         readSizes() && checkVariants();
}

bool CommandLine::readWeights() {
  for (StringRef spec : args.getAllArgValues(OPT_fconst_input_EQ)) {
    auto [name, file] = spec.split("=@");
    if (name.empty() || file.empty())
      return wrong("-fconst-input takes NAME=@FILE, not '" + spec + "'");
    if (!takeInput("-fconst-input", file))
      return false;
    (void)forInputs(spec, [](ModelInput &input, StringRef text) {
      auto [name, file] = text.split("=@");
      input.import.constInputs[name] = file.str();
      return true;
    });
  }
  if (const Arg *arg = args.getLastArg(OPT_frandom_weights_EQ)) {
    uint64_t seed;
    if (StringRef(arg->getValue()).getAsInteger(10, seed))
      return wrong("-frandom-weights takes a number, not '" +
                   Twine(arg->getValue()) + "'");
    for (ModelInput &input : options.inputs)
      input.import.randomWeights = seed;
  }
  return true;
}
