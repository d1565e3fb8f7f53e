//===- Options.h - fritc's command line -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H

#include "codegen/cuda/target/GpuArch.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Status.h"
#include "compiler/driver/quantize/Ranges.h"
#include "compiler/import/Import.h"
#include "compiler/padding/SymbolSizes.h"
#include "compiler/support/OwnedFiles.h"
#include "compiler/training/TrainingOptions.h"
#include "compiler/transform/sparse/Sparsity.h"

#include "frit/host_arch.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace frit {

/// Finds this machine's GPU; none if it has none.
using FindGpu = llvm::function_ref<std::optional<cuda::GpuArch>()>;

/// The last stage of the compilation.
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

/// The format of a model's file.
enum class Language { onnx, json };

/// A model on the command line, which becomes a function of the artifact.
struct ModelInput {
  std::string name = "main"; ///< of the function
  std::string path;          ///< "-" is standard input
  bool isNamed = false;      ///< by -fentry
  ImportOptions import = {};
  std::vector<SymbolSizes> openSymbols = {};
  /// NAME:TYPE of inputs and outputs, the types as modules spell them.
  llvm::SmallVector<std::string> types = {};
  /// IN:OUT of inputs that stay between calls, and their next values.
  llvm::SmallVector<std::string> states = {};
  bool isDecoder = false; ///< a language model: its folder or a GGUF file
  bool hasCaches = false; ///< a language model's files, whose caches are inputs
  int64_t mostContext = 0; ///< of genai_config.json beside it; 0: nothing says
  /// Of a language model with an encoder: the paths of its files.
  std::vector<std::string> parts = {};
};

/// The options of -fquantize.
struct QuantizationOptions {
  std::string format; ///< int8 or fp8; empty: nothing
  std::string data;   ///< of --calibrate; empty: the table is read
  /// The table of scales: written with data, read without. With neither, fp8
  /// has scales of rows.
  std::string scales;
  Calibrator calibrator = Calibrator::max;
  std::optional<double> maxError = {}; ///< of the model's results
  /// How much of the magnitude of norms' columns moves into weights, 0 to 1.
  double smooth = 0.5;
  std::string hostArch; ///< the CPU target to run the model on

  bool hasFloats() const { return format == "fp8"; }
};

struct DriverOptions {
  std::vector<ModelInput> inputs; ///< at least one
  /// Set by -x; otherwise the file's name decides.
  std::optional<Language> language;
  std::string output; ///< never empty after parsing; "-" is standard output
  std::string header; ///< of an object; may be empty
  /// The model's name in C symbols of an object; see ModelName.
  std::string name;
  /// The artifact's name: --name, or the input's name.
  std::string title;
  std::string report;      ///< the page of pictures; empty for none
  std::string weightsFile; ///< beside the artifact; empty: embedded
  Emit emit = Emit::shared;
  std::vector<std::string> archs;
  /// The kind of machine that the artifact's host code is for.
  HostMachine machine = HostMachine::x86_64;
  HostSystem system = HostSystem::gnuLinux;
  /// This machine's GPU, if -march=native or the lack of -march asks for it.
  std::optional<cuda::GpuArch> gpu;
  /// No -march was given: targets whose tools are missing are left out.
  bool defaultArchs = false;
  unsigned level = 2;
  std::string precision;
  std::string float8Gradients; ///< e5m2, e4m3 or bf16
  bool hasPrecision = false;   ///< -fprecision was given
  std::string weights;         ///< format of products' weights, or empty
  Sparsity sparsity = Sparsity::asTheyAre; ///< of products' weights
  QuantizationOptions quantization;
  /// Of language models: sequences, and tokens of each and of its source that
  /// caches hold.
  std::optional<int64_t> batch, context, source;
  std::string cache; ///< of language models: int8, fp8 or, for numbers, empty
  /// Of language models: tokens of a call of verify, and most rank of adapters.
  std::optional<int64_t> verify, loraRank;
  std::string sampler; ///< of a model of diffusion; empty for none
  /// Globs of nodes that stay f32, and the file that lists them.
  llvm::SmallVector<std::string> keepWide;
  std::string keepWideFile;
  /// The training file; empty for inference.
  std::string trainingFile;
  std::vector<std::string> customOpFiles; ///< of --custom-op
  DataParallelOptions dataParallel;       ///< only with a training file
  std::optional<int64_t> memoryLimit;     ///< bytes
  bool fuse = true, guard = true, fork = true, cublas = true, cudnn = true;
  bool deterministic = false;
  bool batchInvariant = false;
  bool verbose = false, dryRun = false, saveTemps = false;
  bool timeReport = false, memoryReport = false;
  WarningOptions warnings;
  std::vector<std::string> unused; ///< why options have no effect
  /// Files of timed schedules: one to add to, one to use. Empty for none.
  std::string tuneGenerate, tuneUse;
  double tuneBudget = 60; ///< seconds
  bool tuned = true;      ///< whether to use the schedules that come with frit
  /// Regular expressions over categories; empty for none.
  std::string remarksPassed, remarksMissed;
};

/// Returns whether a function of an artifact may have this name.
bool isFunctionName(llvm::StringRef name);

/// Returns all files that options name to be written.
std::vector<OutputName> outputsOf(const DriverOptions &options);

/// Parses the command line. None if the program should exit with `status`: the
/// usage is wrong, an output cannot be written, or --help was printed.
/// `findGpu` returns the GPU present or none; called only if options.gpu is to
/// be set, since initialising the driver takes time.
std::optional<DriverOptions> parseCommandLine(int argc, char **argv,
                                              FindGpu findGpu, int &status);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONS_H
