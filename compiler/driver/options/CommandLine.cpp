//===- CommandLine.cpp - Parse fritc's arguments --------------------------===//

#include "compiler/driver/options/CommandLine.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/decoder/Decoder.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/ModelName.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/options/HelpLists.h"
#include "compiler/gguf/Model.h"

#include "frit/printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"

using namespace frit;
using llvm::StringRef;
using llvm::Twine;
using llvm::opt::Arg;

bool CommandLine::checkFiles() {
  for (const Arg *arg : args.filtered(OPT_train_EQ, OPT_header_EQ,
                                      OPT_ftune_use_EQ, OPT_ftune_generate_EQ,
                                      OPT_custom_op_EQ, OPT_fkeep_fp32_EQ))
    if (!*arg->getValue())
      return wrong(arg->getSpelling().rtrim('=') + " takes a file, not ''");
  return true;
}

bool CommandLine::readInput() {
  for (const Arg *arg : args.filtered(OPT_INPUT, OPT_fentry_EQ)) {
    ModelInput &input = options.inputs.emplace_back();
    input.path = arg->getValue();
    if (arg->getOption().matches(OPT_INPUT)) {
      input.name = llvm::sys::path::stem(input.path).str();
    } else {
      auto [name, path] = StringRef(arg->getValue()).split('=');
      input = {name.str(), path.str(), /*isNamed=*/true};
      if (path.empty() || !isFunctionName(name))
        return wrong("-fentry takes NAME=MODEL, as decode=decode.onnx, where "
                     "the name has letters, digits, '_', '-' and '.' and is "
                     "not prepare or derive, not '" +
                     Twine(arg->getValue()) + "'");
    }
    // A folder is named after itself.
    while (StringRef(input.path).ends_with("/") && input.path.size() > 1)
      input.path.pop_back();
    input.isDecoder =
        decoder::isDecoderFolder(input.path) || gguf::isModel(input.path);
    input.hasCaches = !input.isDecoder && args.hasArg(OPT_context_EQ);
    if (!findGenai(input))
      return false;
    protectInput(input.path);
  }
  findParts();
  if (options.inputs.empty())
    return wrong("no model given; try `fritc model.onnx -o model.so`");
  if (options.inputs.size() == 1 && !options.inputs.front().isNamed)
    options.inputs.front().name = "main";
  llvm::StringSet<> names;
  for (const ModelInput &input : options.inputs) {
    if (!isFunctionName(input.name))
      return wrong("'" + input.path +
                   "' is one of several models, and the name of its file is "
                   "no name for a function; -fentry=NAME=" +
                   input.path + " gives one");
    if (!names.insert(input.name).second)
      return wrong("two models would be the function '" + input.name +
                   "'; -fentry=NAME=" + input.path + " gives another name");
  }
  auto language = chosen(OPT_x, "");
  if (!language)
    return false;
  if (!language->empty())
    options.language = *language == "json" ? Language::json : Language::onnx;
  return true;
}

bool frit::isFunctionName(StringRef name) {
  return !name.empty() && name != "prepare" && name != "derive" &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.';
         });
}

bool CommandLine::forInputs(
    StringRef spec, llvm::function_ref<bool(ModelInput &, StringRef)> read) {
  auto [entry, rest] = spec.split('@');
  for (ModelInput &input : options.inputs)
    if (spec.contains('@') && input.name == entry)
      return read(input, rest);
  return llvm::all_of(options.inputs,
                      [&](ModelInput &input) { return read(input, spec); });
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
  options.batchInvariant = args.hasArg(OPT_fbatch_invariant);
  options.dryRun = args.hasArg(OPT_dry_run);
  options.verbose = options.dryRun || args.hasArg(OPT_v);
  options.timeReport = args.hasArg(OPT_ftime_report);
  options.memoryReport = args.hasArg(OPT_memory_report);

  options.tuneGenerate = args.getLastArgValue(OPT_ftune_generate_EQ).str();
  options.tuneUse = args.getLastArgValue(OPT_ftune_use_EQ).str();
  options.tuned = args.hasFlag(OPT_ftuned, OPT_fno_tuned, true);
  if (options.batchInvariant &&
      (!options.tuneGenerate.empty() || !options.tuneUse.empty()))
    return wrong(
        Twine(options.tuneUse.empty() ? "-ftune-generate" : "-ftune-use") +
        " has the fastest schedules for a number of rows, and "
        "-fbatch-invariant the same for all; give one of them");
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
  if (args.hasArg(OPT_tune_budget_EQ) && options.tuneGenerate.empty())
    return wrong("--tune-budget is used with -ftune-generate=FILE");
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
      // Build systems pass flags that are meant for C compilers.
      if (!isKnown && !warnings.none)
        llvm::WithColor::warning(llvm::errs(), "fritc")
            << printable((arg->getSpelling() + name).str())
            << ": frit has no such warning" << nearest(name) << "\n";
      warnings.isShown[name] = arg->getOption().matches(OPT_W_);
      break;
    default: // -Wall is the default.
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
  std::vector<std::string> known;
  for (StringRef category : remarkCategories(option == OPT_Rpass_missed_EQ))
    known.push_back(category.str());
  llvm::Regex regex(expression);
  if (args.hasArg(option) && llvm::none_of(known, [&](StringRef category) {
        return regex.match(category);
      })) {
    std::string nearest = nearestTo(expression, known);
    options.unused.push_back(
        (parser.getOptionPrefixedName(option) + expression +
         " has no effect: its remarks are " + listOf(known) +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"))
            .str());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Handles options such as --help and sets `status`. Returns false if there are
/// none.
static bool answer(const FritcOptions &parser,
                   const llvm::opt::InputArgList &args, int &status) {
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
  else if (auto form = parser.helpForm(*arg))
    llvm::outs() << printHelp(fritcHelp(parser), *form);
  else
    status = kBadUsage;
  return true;
}

std::optional<DriverOptions>
frit::parseCommandLine(int argc, char **argv, FindGpu findGpu, int &status) {
  setUpColors();
  FritcOptions parser;
  std::optional<llvm::opt::InputArgList> args = parser.parse(argc, argv);
  status = args ? kDone : kBadUsage;
  if (!args || answer(parser, *args, status))
    return std::nullopt;
  CommandLine line(parser, *args, findGpu);
  if (line.read())
    return std::move(line.options);
  status = line.status;
  return std::nullopt;
}
