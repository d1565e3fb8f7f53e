//===- RunOptions.cpp - Options to run a model ----------------------------===//

#include "tools/support/RunOptions.h"
#include "tools/support/Message.h"

#include <cstring>
#include <set>

using namespace frit;
using namespace frit::tools;

static const Setting<RunOptions, bool> flags[] = {
    {"--no-cuda-graph", &RunOptions::noGraph},
    {"--no-programmatic-launch", &RunOptions::noProgrammaticLaunch},
    {"--no-cublas", &RunOptions::noCublas},
    {"--no-cudnn", &RunOptions::noCudnn},
    {"--deterministic", &RunOptions::deterministic}};

static const Setting<RunOptions, std::string> texts[] = {
    {"--device=", &RunOptions::device}, {"--weights=", &RunOptions::weights}};

std::optional<bool> frit::tools::applyRunOption(const Argument &argument,
                                                RunOptions &options) {
  if (bool *flag = findSetting(flags, argument, options))
    return *flag = true;
  if (std::string *text = findSetting(texts, argument, options))
    return parseText(argument, *text);
  if (argument.name == "--memory-limit=")
    return parseBytes(argument, options.memoryLimit);
  if (argument.name == "--threads=") {
    uint64_t threads = 0;
    bool good = parseCount(argument, 4096, threads);
    options.threads = uint32_t(threads);
    return good;
  }
  return std::nullopt;
}

bool frit::tools::checkUses(const RunOptions &options,
                            const frit_module *module) {
  frit_device_info device = {};
  bool isKnown = frit_module_device(module, &device) == FRIT_OK;
  bool isCpu = isKnown && !strcmp(device.device, "cpu");
  const frit::options::OptionUse machine[] = {
      {frit::options::OnCpu, !isKnown || isCpu, "on a GPU"},
      {frit::options::OnGpu, !isCpu, "on the cpu"}};
  std::string unused = frit::options::findUnused(options.given, machine);
  if (!unused.empty())
    complain("note: " + unused);
  const frit::options::OptionUse files[] = {
      {frit::options::OfWeights, frit_module_weight_file_count(module) > 0,
       "on this model, which holds its weights itself"}};
  return checkUses(options.given, files);
}

/// Prints a remark unless it was printed before: a model's functions have the
/// same remarks.
static void printRemark(void *user, const char *message) {
  static std::set<std::string> printed;
  bool isQuiet = !strncmp(message, "running on the cpu", 18) &&
                 !static_cast<const RunOptions *>(user)->verbose;
  if (!isQuiet && printed.insert(message).second)
    complain("note: " + std::string(message));
}

frit_module_options frit::tools::moduleOptions(const RunOptions &options) {
  frit_module_options settings = FRIT_MODULE_OPTIONS_INIT;
  settings.device = options.device.c_str();
  if (!options.weights.empty())
    settings.weights_folder = options.weights.c_str();
  settings.threads = options.threads;
  settings.memory_limit = options.memoryLimit;
  if (options.noGraph)
    settings.flags |= FRIT_NO_CUDA_GRAPH;
  if (options.noProgrammaticLaunch)
    settings.flags |= FRIT_NO_PROGRAMMATIC_LAUNCH;
  if (options.noCublas)
    settings.flags |= FRIT_NO_CUBLAS;
  if (options.noCudnn)
    settings.flags |= FRIT_NO_CUDNN;
  if (options.deterministic)
    settings.flags |= FRIT_DETERMINISTIC;
  // Remarks about a missing library or graph are always printed, because the
  // model is slower then.
  settings.remark = printRemark;
  settings.remark_user = const_cast<RunOptions *>(&options);
  return settings;
}
