//===- RunOptions.h - Options to run a model ------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_RUNOPTIONS_H
#define FRIT_TOOLS_SUPPORT_RUNOPTIONS_H

#include "frit/runtime.h"
#include "tools/support/Arguments.h"

namespace frit::options {

/// Modes in which options have an effect, named as in RunOptions.td. A tool's
/// own follow.
enum : unsigned { OfWeights = DefaultVis + 1, OnCpu, OnGpu, FirstOwnUse };

} // namespace frit::options

namespace frit::tools {

/// Options of every tool that runs a model, as in RunOptions.td.
struct RunOptions {
  std::string device;  ///< empty: the default
  std::string weights; ///< folder of external weights; empty: the model's
  uint32_t threads = 0;
  uint64_t memoryLimit = 0; ///< bytes; 0: none
  bool noGraph = false, noProgrammaticLaunch = false;
  bool noCublas = false, noCudnn = false;
  bool deterministic = false;
  bool verbose = false;

  std::vector<frit::options::GivenOption> given; ///< those that have one use
};

/// Applies an argument that is one of these options. On failure prints an error
/// and returns false. Returns nothing for other options.
std::optional<bool> applyRunOption(const Argument &argument,
                                   RunOptions &options);

/// Returns whether all options have an effect on the model; prints which one
/// has none. Those that are for another device than the module's get a note.
bool checkUses(const RunOptions &options, const frit_module *module);

/// Returns the options to open a module with. They point to `options`, which
/// must outlive the module. Remarks are printed; the remark that the model runs
/// on the cpu only if `verbose`.
frit_module_options moduleOptions(const RunOptions &options);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_RUNOPTIONS_H
