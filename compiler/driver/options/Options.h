//===- Options.h - fritc's command line -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Status.h"
#include "compiler/import/Import.h"
#include "compiler/padding/SymbolSizes.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace frit {

/// What the compilation ends with.
enum class Emit {
  nn,
  json,
  fused,
  plan,
  dot,
  cuda,
  ptx,
  cubin,
  object,
  shared
};

/// What a model is written in.
enum class Language { onnx, json };

struct DriverOptions {
  std::string input;
  /// Where -x tells; otherwise the file's name does.
  std::optional<Language> language;
  std::string output; ///< never empty after parsing; "-" is standard output
  std::string header; ///< of an object; may be empty
  /// What the model is called in C, in the symbols of an object; see ModelName.
  std::string name;
  /// What the artifact calls itself: --name, or the input's name.
  std::string title;
  std::string report;      ///< the page of pictures; empty for none
  std::string weightsFile; ///< beside the artifact; empty: embedded
  Emit emit = Emit::shared;
  std::vector<std::string> archs;
  /// No -march was given, so a target whose tools are missing is left out.
  bool defaultArchs = false;
  unsigned level = 2;
  std::string precision;
  /// Globs of nodes that stay f32, and the file that has them.
  llvm::SmallVector<std::string> keepWide;
  /// NAME:TYPE of inputs and outputs, the types as modules spell them.
  llvm::SmallVector<std::string> types;
  ImportOptions import;
  std::vector<SymbolSizes> openSymbols;
  /// The file that says how the model trains; empty where it is only run.
  std::string trainingFile;
  std::vector<std::string> customOpFiles; ///< of --custom-op
  bool dataParallel = false;              ///< only with a training file
  bool syncBatchNorm = false;
  std::optional<int64_t> memoryLimit; ///< bytes
  bool fuse = true, guard = true, fork = true, cublas = true, cudnn = true;
  bool deterministic = false;
  bool verbose = false, dryRun = false, saveTemps = false;
  bool timeReport = false, memoryReport = false;
  WarningOptions warnings;
  /// Files of timed schedules: to add to, and to take from. Empty for none.
  std::string tuneGenerate, tuneUse;
  double tuneBudget = 60; ///< seconds
  bool tuned = true;      ///< whether to take what frit comes with
  /// Regular expressions over categories; empty for none.
  std::string remarksPassed, remarksMissed;
};

/// Parses the command line. Returns nothing where the program should end with
/// `status`: usage was wrong, an output cannot be written, or --help or the
/// like was printed. `deviceArch` tells the GPU present ("sm_90a"), or nothing;
/// it is asked only where no -march is given, as waking the driver takes time.
std::optional<DriverOptions>
parseCommandLine(int argc, char **argv,
                 llvm::function_ref<std::string()> deviceArch, int &status);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H
