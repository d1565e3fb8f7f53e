//===- OptionFiles.cpp - Files that fritc's options name ------------------===//

#include "compiler/driver/options/OptionFiles.h"

#include "compiler/driver/options/CustomOpFile.h"
#include "compiler/driver/options/TrainingFile.h"
#include "compiler/support/InputFile.h"

#include "llvm/Support/FileSystem.h"

using namespace frit;
using llvm::Error;
using llvm::Expected;

Expected<TrainingOptions> frit::readTraining(const DriverOptions &options) {
  Expected<TrainingOptions> training = readTrainingFile(options.trainingFile);
  if (!training)
    return training.takeError();
  if (options.dataParallel.shardOptimizer &&
      training->optimizer.kind == OptimizerKind::lamb)
    return llvm::createStringError(
        options.trainingFile +
        ": 'optimizer.kind' is \"lamb\", which needs the norm of each weight: "
        "with -fshard-optimizer no GPU has all of it");
  if (options.dataParallel.shardOptimizer && training->optimizer.byteMoments)
    return llvm::createStringError(
        options.trainingFile +
        ": 'optimizer.moments' is \"int8\", of which blocks share scales: "
        "-fshard-optimizer divides moments in f32");
  training->dataParallel = options.dataParallel;
  training->lossScale.enabled = options.precision == "amp-fp16";
  return training;
}

Expected<std::vector<CustomSpec>>
frit::readCustomOps(llvm::ArrayRef<std::string> paths) {
  std::vector<CustomSpec> specs;
  llvm::StringMap<std::string> files;
  for (const std::string &path : paths) {
    Expected<CustomSpec> spec = readCustomOp(path);
    if (!spec)
      return spec.takeError();
    auto [it, isNew] = files.try_emplace(spec->name, path);
    if (!isNew)
      return llvm::createStringError(path + ": defines " + spec->name +
                                     ", as does " + it->second);
    specs.push_back(std::move(*spec));
  }
  return specs;
}

/// Adds the schedules of a file.
static Error readTuningFile(const std::string &path, mlir::MLIRContext &context,
                            cuda::Tuning &tuning) {
  if (std::error_code error = checkInput(path))
    return llvm::createFileError(path, error);
  return tuning.read(path, &context);
}

Error frit::readTuning(const DriverOptions &options, mlir::MLIRContext &context,
                       cuda::Tuning &tuning) {
  // -ftune-generate times contractions even if frit has a schedule for them.
  if (options.tuned && options.tuneGenerate.empty())
    if (Error error = tuning.readShipped(&context))
      return error;
  tuning.warnsOfMisses = !options.tuneUse.empty();
  return options.tuneUse.empty()
             ? Error::success()
             : readTuningFile(options.tuneUse, context, tuning);
}

Error frit::readTuningToExtend(const DriverOptions &options,
                               mlir::MLIRContext &context,
                               cuda::Tuning &tuning) {
  const std::string &path = options.tuneGenerate;
  return path.empty() || !llvm::sys::fs::exists(path)
             ? Error::success()
             : readTuningFile(path, context, tuning);
}
